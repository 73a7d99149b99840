#!/usr/bin/env python3
"""An API whose certificate nobody vouches for is told nothing: no request, and no key. HARNESS_BIN is
the program. Needs openssl, for the certificates.

Spec: [MODEL-78]
"""

import http.server
import ssl
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import Failure, Service  # noqa: E402

KEY = "sk-ant-not-to-be-told"


def own_certificate(folder):
    """A key, and a certificate for this machine that is signed with it."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=api", "-days", "30",
                    "-addext", "subjectAltName=IP:127.0.0.1",
                    "-addext", "basicConstraints=critical,CA:FALSE",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


class Told:
    """A server, and every byte that it was told under encryption or without."""

    def __init__(self, context):
        told = self.told = []

        class Handler(http.server.BaseHTTPRequestHandler):
            """Notes what it is asked."""

            def log_message(self, format, *args):
                """Nothing is printed."""

            def parse_request(self):
                told.append(self.raw_requestline)
                return super().parse_request()

            def do_POST(self):
                """Says that it was asked."""
                self.send_response(500)
                self.end_headers()

            do_GET = do_POST

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda request, address: None
        if context is not None:
            wrapped = context.wrap_socket(self.server.socket, server_side=True,
                                          do_handshake_on_connect=False)
            self.server.socket = wrapped
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def refused(folder, what, context):
    """One prompt to a service whose API is there; its run fails, and the API was told nothing."""
    api = Told(context)
    flags = ["--base-url", f"https://127.0.0.1:{api.server.server_port}", "--max-retries", "1",
             "--model", "claude-haiku-4-5"]
    service = Service(folder, *flags, model=())
    service.environment["ANTHROPIC_API_KEY"] = KEY
    service.start()
    try:
        conversation = service.create()
        service.accepted(conversation, "hi", "k")
        service.wait_for_end(conversation)
        service.kill()
        lines = service.journal(conversation).lines
        ends = [line.record["data"] for line in lines if line.record["type"] == "run_ended"]
        print(f"{what}: {ends}", flush=True)
        if len(ends) != 1 or ends[0]["outcome"] == "completed":
            raise Failure(f"{what}: the reply was taken")
        # Without encryption the server sees a greeting of TLS, which is no line of HTTP.
        if any(b"HTTP/" in line or KEY.encode() in line for line in api.told):
            raise Failure(f"{what}: the API was asked: {api.told}")
        if KEY in service.log.read_text(errors="replace"):
            raise Failure(f"{what}: the key is in the log")
    finally:
        service.kill()
        api.server.shutdown()


def main():
    """A server with a certificate of its own, and one without encryption."""
    with tempfile.TemporaryDirectory(prefix="certificates-") as folder:
        for what in ("a certificate that vouches for itself", "no encryption"):
            place = Path(folder) / what.split()[0]
            place.mkdir()
            refused(place, what, None if what == "no encryption" else own_certificate(place))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
