"""httpx with httpx-sse, in the loop that its README shows: prints what it gets, a line of JSON an
event.
"""

import json
import sys
import threading
import time

import httpx
from httpx_sse import connect_sse

lock = threading.Lock()


def follow(stream, url):
    """Attaches again and again, each time behind the last id."""
    last_event_id, delay = "", 0.0
    client = httpx.Client(timeout=60, trust_env=False)
    while True:
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        try:
            with connect_sse(client, "GET", url, headers=headers) as source:
                source.response.raise_for_status()
                show(stream, open=True)
                for event in source.iter_sse():
                    last_event_id = event.id
                    if event.retry is not None:
                        delay = event.retry / 1000
                    # It gives blocks without data, too.
                    if event.data:
                        show(stream, id=event.id, data=event.data)
        except httpx.HTTPStatusError as error:
            show(stream, gaveUp=str(error))
            return
        except httpx.TransportError:
            pass
        time.sleep(delay or 0.05)


def show(stream, **event):
    """Prints an event."""
    with lock:
        print(json.dumps({"stream": stream, **event}), flush=True)


threads = [
    threading.Thread(target=follow, args=item) for item in json.loads(sys.argv[1]).items()
]
for thread in threads:
    thread.start()
