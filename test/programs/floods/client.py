"""Floods of HTTP/2 frames, encoded by hpack and hyperframe, from a client that has not authenticated.

Arguments: the port, the path of a tunnel, the kind of flood, and the number of frames. Prints a JSON object
of how it ended, with the error code of the GOAWAY that the server has sent.
"""

import json
import socket
import sys
import threading

import h2.connection
import h2.events
from hpack import Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

PATIENCE = 60  # seconds without a byte
BATCH = 200  # frames in one write

encoder = Encoder()


def request(path):
    return [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "server.test"),
        (":path", path),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]


def headers(stream, path, *flags):
    frame = HeadersFrame(stream, encoder.encode(request(path)), flags=list(flags))
    return frame.serialize()


def rapid_reset(path, count):
    for i in range(count // 2):
        stream = 2 * i + 1
        yield headers(stream, path, "END_HEADERS")
        yield RstStreamFrame(stream, error_code=8).serialize()


def refused(path, count):
    """Requests beyond the limit, all at once."""
    for i in range(count):
        yield headers(2 * i + 1, path, "END_HEADERS")


def wrong_updates(path, count):
    """Frames for which the server itself resets each stream (MadeYouReset)."""
    for i in range(count // 2):
        stream = 2 * i + 1
        yield headers(stream, path, "END_HEADERS")
        frame = WindowUpdateFrame(stream, window_increment=1).serialize()
        yield frame[:-4] + bytes(4)


def continuation(path, count):
    yield headers(1, path)
    for _ in range(count):
        yield ContinuationFrame(1, encoder.encode([("x-a", "b")])).serialize()


def empty_continuation(path, count):
    yield headers(1, path)
    for _ in range(count):
        yield ContinuationFrame(1, b"").serialize()


def settings(path, count):
    for _ in range(count):
        yield SettingsFrame(0).serialize()


def windows(path, count):
    """Changes of the window of a hundred streams."""
    for i in range(100):
        yield headers(2 * i + 1, path, "END_HEADERS")
    for i in range(count):
        yield SettingsFrame(0, settings={4: 65535 - i % 2}).serialize()


def ping(path, count):
    for _ in range(count):
        yield PingFrame(0, opaque_data=b"12345678").serialize()


def empty_data(path, count):
    yield headers(1, path, "END_HEADERS")
    for _ in range(count):
        yield DataFrame(1, b"").serialize()


def padding(path, count):
    """DATA that is all padding."""
    yield headers(1, path, "END_HEADERS")
    for _ in range(count):
        yield DataFrame(1, b"", pad_length=8, flags=["PADDED"]).serialize()


def priority(path, count):
    for i in range(count):
        yield PriorityFrame(2 * i + 1, depends_on=0, stream_weight=15).serialize()


def closed_headers(path, count):
    """Header blocks on a stream that the server has reset."""
    yield headers(1, "/", "END_HEADERS")
    for _ in range(count):
        yield headers(1, "/", "END_HEADERS", "END_STREAM")


def window_update(path, count):
    for _ in range(count):
        yield WindowUpdateFrame(0, window_increment=1).serialize()


FLOODS = {
    "rapid reset": rapid_reset,
    "refused streams": refused,
    "wrong window updates": wrong_updates,
    "CONTINUATION": continuation,
    "empty CONTINUATION": empty_continuation,
    "SETTINGS": settings,
    "window sizes": windows,
    "PING": ping,
    "unread PING": ping,
    "empty DATA": empty_data,
    "padding": padding,
    "PRIORITY": priority,
    "HEADERS on a closed stream": closed_headers,
    "WINDOW_UPDATE": window_update,
}


def send(link, kind, path, count, result):
    try:
        batch = []
        for frame in FLOODS[kind](path, count):
            batch.append(frame)
            if len(batch) == BATCH:
                link.sendall(b"".join(batch))
                result["sent"] += len(batch)
                batch = []
        link.sendall(b"".join(batch))
        result["sent"] += len(batch)
        if kind == "WINDOW_UPDATE":
            # The connection lives, and what follows is responded to.
            link.sendall(PingFrame(0, opaque_data=b"the end!").serialize())
    except OSError:
        pass  # closed by the server: seen by the reader


def main():
    port, path, kind, count = sys.argv[1:]
    link = socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE)
    h2_client = h2.connection.H2Connection()
    h2_client.initiate_connection()
    link.sendall(h2_client.data_to_send())
    result = {"sent": 0, "ended": "timeout", "goaway": None, "responded": False}
    sender = threading.Thread(target=send, args=(link, kind, path, int(count), result))
    sender.start()
    if kind == "unread PING":
        sender.join()
    try:
        while not result["responded"]:
            received = link.recv(1 << 20)
            if not received:
                result["ended"] = "end"
                break
            read(h2_client, received, result)
    except ConnectionResetError:
        result["ended"] = "reset"
    except TimeoutError:
        pass
    link.close()
    sender.join()
    print(json.dumps(result))


def read(h2_client, received, result):
    """h2 reads the frames; it knows nothing of the streams that the flood has opened."""
    buffer = h2_client.incoming_buffer
    buffer.add_data(received)
    buffer.max_frame_size = 1 << 24
    for frame in buffer:
        if frame.type == 7:
            result["goaway"] = frame.error_code
        if frame.type == 6 and frame.opaque_data == b"the end!":
            result["responded"] = True


main()
