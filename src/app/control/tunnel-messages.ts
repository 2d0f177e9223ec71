import { toDialTimes, type DialTimes } from '../../net/dial-steps.ts';

/** The operand of `connect` on the control socket, as JSON. */
export interface TunnelRequest {
  /** Tag of an outbound, or of a balancer, which picks one of its members. */
  readonly outbound: string;
  readonly host: string;
  readonly port: number;
}

/** The response to `connect`. After `connected` the bytes of the flow follow. */
export type TunnelResponse = TunnelOpened | TunnelFailed;

/** No flow was opened. */
export interface TunnelFailed {
  readonly kind: 'failed';
  readonly line: string;
  /** The steps of the dial that were completed; empty where none was begun. */
  readonly times: DialTimes;
}

/** A flow is open: the outbound would accept a client now. */
export interface TunnelOpened {
  readonly kind: 'connected';
  /** Tag of the outbound: of the member that a balancer has picked. */
  readonly outbound: string;
  /**
   * The steps of the dial, from the request on; `reused` where the flow shares a connection to the server that was
   * open before, as with QUIC and gRPC. What `opened` has beyond the other steps is the outbound's own exchange
   * with its server. Several protocols have none before the first payload: then the destination may still be
   * unreachable.
   */
  readonly times: DialTimes;
  /** See `Outbound.suspect`; `null` for none. */
  readonly suspect: string | null;
}

/** @param parsed any JSON. `undefined` for anything but a response. */
export function toTunnelResponse(parsed: unknown): TunnelResponse | undefined {
  if (typeof parsed !== 'object' || parsed === null || !('kind' in parsed)) return undefined;
  if (parsed.kind === 'failed') {
    return 'line' in parsed && typeof parsed.line === 'string'
      ? { kind: 'failed', line: parsed.line, times: timesIn(parsed) }
      : undefined;
  }
  if (parsed.kind !== 'connected') return undefined;
  const { outbound, suspect } = parsed as Partial<Record<keyof TunnelOpened, unknown>>;
  if (typeof outbound !== 'string') return undefined;
  const cause = typeof suspect === 'string' ? suspect : null;
  return { kind: 'connected', outbound, times: timesIn(parsed), suspect: cause };
}

const timesIn = (parsed: object): DialTimes => ('times' in parsed ? toDialTimes(parsed.times) : {});

/** @param text what followed the word. `undefined` for anything but a request. */
export function toTunnelRequest(text: string): TunnelRequest | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { outbound, host, port } = parsed as Partial<Record<keyof TunnelRequest, unknown>>;
  if (typeof outbound !== 'string' || typeof host !== 'string' || typeof port !== 'number') {
    return undefined;
  }
  return Number.isInteger(port) && port > 0 && port < 1 << 16
    ? { outbound, host, port }
    : undefined;
}
