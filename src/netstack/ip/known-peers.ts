import {
  addressText,
  copyEndpoint,
  isSameEndpoint,
  toEndpoint,
  type IpEndpoint,
} from '../../ip/ip-endpoint.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import { KNOWN_PEERS } from '../limits.ts';

/** The address of a peer as text and as numbers. */
export interface Known {
  readonly text: Endpoint;
  readonly numbers: IpEndpoint;
  /** Whether a datagram of the client to this peer was checked not to be a returned one of this stack. */
  isChecked: boolean;
  /** Whether a datagram was sent to the client with this peer as its source. */
  isSent: boolean;
}

/**
 * The last peers of an association, so that a datagram does not cost a conversion of its address to or from
 * text. Bounded: the oldest is replaced.
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

  /** Finds or adds a peer by its text; `undefined` if it is not an IP address with a valid port. */
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
