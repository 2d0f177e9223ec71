import {
  addressText,
  copyEndpoint,
  isSameEndpoint,
  toEndpoint,
  type IpEndpoint,
} from '../ip/ip-endpoint.ts';
import type { Endpoint } from '../net/address.ts';
import { KNOWN_PEERS } from './limits.ts';

interface Known {
  readonly text: Endpoint;
  readonly numbers: IpEndpoint;
}

/**
 * The peers that an association had to do with last, in both forms, so that a datagram costs neither new
 * text nor its reading. Bounded: the one that was added first gives way.
 */
export class KnownPeers {
  readonly #known: Known[] = [];
  #next = 0;

  text(endpoint: IpEndpoint): Endpoint {
    for (const { numbers, text } of this.#known) if (isSameEndpoint(numbers, endpoint)) return text;
    const text = { host: addressText(endpoint), port: endpoint.port };
    this.#add({ text, numbers: copyEndpoint(endpoint) });
    return text;
  }

  /** `undefined` for what is not an IP address and a port that datagrams can go to. */
  numbers({ host, port }: Endpoint): IpEndpoint | undefined {
    for (const { numbers, text } of this.#known) {
      if (text.port === port && text.host === host) return numbers;
    }
    const numbers = port > 0 && port <= 0xffff ? toEndpoint(host, port) : undefined;
    if (numbers !== undefined) this.#add({ text: { host, port }, numbers });
    return numbers;
  }

  #add(known: Known): void {
    this.#known[this.#next] = known;
    this.#next = (this.#next + 1) % KNOWN_PEERS;
  }
}
