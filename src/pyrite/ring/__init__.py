"""Members, views, names and copies of one consistent-hash ring: decisions only, no sockets."""
