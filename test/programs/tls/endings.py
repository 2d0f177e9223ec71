"""
A Trojan client on tlslite-ng, which sends `half` through a tunnel and ends the connection in some way.

`endings.py PORT REQUEST_IN_HEX close_notify|truncated|alert|oversized`
"""

import socket
import sys

from tlslite.api import HandshakeSettings, TLSConnection
from tlslite.constants import AlertDescription, AlertLevel, ContentType
from tlslite.messages import Alert

port, request, how = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), sys.argv[3]
settings = HandshakeSettings()
settings.eccCurves = ["x25519", "secp256r1"]
settings.keyShares = ["x25519"]
settings.minVersion = (3, 4)
connection = TLSConnection(socket.create_connection(("127.0.0.1", port)))
connection.handshakeClientCert(settings=settings, serverName="server.test")
connection.write(request + b"half")
# The far end's echo shows that all has arrived before the end.
assert connection.read(min=4, max=4) == b"half"
if how == "close_notify":
    connection.closeSocket = False
    for _ in connection._sendMsg(Alert().create(AlertDescription.close_notify, AlertLevel.warning)):
        pass
    connection.sock.shutdown(socket.SHUT_WR)
elif how == "alert":
    for _ in connection._sendMsg(Alert().create(AlertDescription.internal_error, AlertLevel.fatal)):
        pass
elif how == "oversized":
    connection.sock.sendall(bytes([ContentType.application_data, 3, 3, 0xFF, 0xFF]) + bytes(0xFFFF))
else:
    connection.sock.shutdown(socket.SHUT_WR)
# Until the server has closed as well.
try:
    while connection.sock.recv(4096):
        pass
except ConnectionResetError:
    pass
print(how)
