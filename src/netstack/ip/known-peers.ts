import {
  addressText,
  copyEndpoint,
  isSameEndpoint,
  toEndpoint,
  type IpEndpoint,
} from '../../ip/ip-endpoint.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import { KNOWN_PEERS } from '../limits.ts';

/** A peer, in both forms. */
export interface Known {
  readonly text: Endpoint;
  readonly numbers: IpEndpoint;
  /** Whether it is known that what the client sends to it is no datagram of this stack that came back. */
  isChecked: boolean;
  /** Whether the client was sent a datagram from it. */
  isSent: boolean;
}

/**
 * The peers that an association had to do with last, in both forms, so that a datagram costs neither new
 * text nor its reading. Bounded: the one that was added first gives way.
 */
export class KnownPeers {
  readonly #known: Known[] = [];
  #next = 0;

  find(endpoint: IpEndpoint): Known | undefined {
    for (const known of this.#known) if (isSameEndpoint(known.numbers, endpoint)) return known;
    return undefined;
  }

  /** Finds or adds a peer. */
  known(endpoint: IpEndpoint): Known {
    const found = this.find(endpoint);
    if (found !== undefined) return found;
    const text = { host: addressText(endpoint), port: endpoint.port };
    return this.#add(text, copyEndpoint(endpoint));
  }

  /** `undefined` for what is not an IP address and a port that datagrams can go to. */
  numbers({ host, port }: Endpoint): IpEndpoint | undefined {
    for (const { numbers, text } of this.#known) {
      if (text.port === port && text.host === host) return numbers;
    }
    const numbers = port > 0 && port <= 0xffff ? toEndpoint(host, port) : undefined;
    if (numbers !== undefined) this.#add({ host, port }, numbers);
    return numbers;
  }

  #add(text: Endpoint, numbers: IpEndpoint): Known {
    const known: Known = { text, numbers, isChecked: false, isSent: false };
    this.#known[this.#next] = known;
    this.#next = (this.#next + 1) % KNOWN_PEERS;
    return known;
  }
}
