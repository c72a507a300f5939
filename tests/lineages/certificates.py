"""Certificates for tests of TLS, made by the command openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
# As many addresses of loopback as tests have machines.
HOSTS = [f"IP:127.0.0.{n}" for n in range(1, 9)] + ["IP:::1", "DNS:localhost"]


def has_openssl() -> bool:
    return shutil.which("openssl") is not None


def made_certificates(folder: Path) -> dict[str, str]:
    """Ray's variables for a certificate of this machine, signed by an authority of its own."""
    folder.mkdir()
    (folder / "hosts").write_text(f"subjectAltName={','.join(HOSTS)}\n")
    ca = ("-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=pyrite tests")
    run(folder, "req", "-x509", *NEW_KEY, *ca)
    run(folder, "req", *NEW_KEY, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=node")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "hosts")
    run(folder, "x509", "-req", "-in", "request.pem", *signed, "-days", "2", "-out", "cert.pem")
    return {
        "RAY_USE_TLS": "1",
        "RAY_TLS_SERVER_CERT": str(folder / "cert.pem"),
        "RAY_TLS_SERVER_KEY": str(folder / "key.pem"),
        "RAY_TLS_CA_CERT": str(folder / "ca.pem"),
    }


def run(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
