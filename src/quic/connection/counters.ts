/** Counts since a connection was made. Bytes are UDP payload. */
export class Counters {
  bytesSent = 0;
  bytesReceived = 0;
  datagramsSent = 0;
  datagramsReceived = 0;
  packetsReceived = 0;
  packetsSent = 0;
  packetsDropped = 0;
}
