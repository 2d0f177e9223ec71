import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import { blankEndpoint } from '../../ip/ip-endpoint.ts';
import type { IpOutput } from '../ip/ip-output.ts';
import type { SegmentOutput } from '../tcp/segment-output.ts';
import { IpProtocol } from '../wire/ip-packet.ts';
import { TCP_CHECKSUM_OFFSET, TcpSegment, tcpHeaderSize, writeTcpHeader } from '../wire/tcp.ts';

/** Writes TCP segments into IP packets. One writer serves all connections in turn. */
export class SegmentWriter implements SegmentOutput {
  readonly segment = new TcpSegment();
  readonly #output: IpOutput;
  #local: IpEndpoint = blankEndpoint();
  #remote: IpEndpoint = blankEndpoint();

  constructor(output: IpOutput) {
    this.#output = output;
  }

  get buffer(): Uint8Array {
    return this.#output.buffer;
  }

  /** Sets the endpoints of the segments that follow: from `local` to `remote`. */
  between(local: IpEndpoint, remote: IpEndpoint): this {
    this.#local = local;
    this.#remote = remote;
    return this;
  }

  begin(payloadBytes: number): number {
    const { segment } = this;
    const headerSize = tcpHeaderSize(segment);
    const at = this.#output.begin(this.#remote, headerSize + payloadBytes, Infinity);
    if (at < 0) return -1;
    segment.sourcePort = this.#local.port;
    segment.destinationPort = this.#remote.port;
    writeTcpHeader(segment, this.#output.buffer, at);
    return at + headerSize;
  }

  end(segmentSize: number): void {
    // Path MTU discovery: DF is always set (RFC 1191 §6.2).
    this.#output.end(
      this.#local,
      this.#remote,
      IpProtocol.TCP,
      TCP_CHECKSUM_OFFSET,
      segmentSize,
      true,
    );
  }
}
