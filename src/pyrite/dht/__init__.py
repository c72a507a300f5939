"""Files on a ring of servers: the processes, their disks, clients, and the fsspec file system."""
