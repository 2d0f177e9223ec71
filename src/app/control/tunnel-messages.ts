import { toDialTimes, type DialTimes } from '../../net/dial-steps.ts';

/** The operand of `connect` on the control socket, as JSON. */
export interface TunnelRequest {
  /** Tag of an outbound, or of a balancer, which picks one of its members. */
  readonly outbound: string;
  readonly host: string;
  readonly port: number;
}

/** The response to `connect`. After `connected`, the bytes of the flow follow. */
export type TunnelResponse = TunnelOpened | TunnelFailed;

/** No flow was opened. */
export interface TunnelFailed {
  readonly kind: 'failed';
  readonly line: string;
  /** Times of the dial's steps that were completed; empty where none began. */
  readonly times: DialTimes;
}

/** A flow is open: at this point the outbound would accept a client. */
export interface TunnelOpened {
  readonly kind: 'connected';
  /** Tag of the outbound; for a balancer, of the member it has picked. */
  readonly outbound: string;
  /**
   * Times of the dial's steps since the request; `reused` where the flow shares an existing connection to the server,
   * as with QUIC and gRPC. The time of `opened` beyond the other steps is the outbound's own exchange with its server.
   * Several protocols have none before the first payload: then the destination may still be unreachable.
   */
  readonly times: DialTimes;
  /** See `Outbound.suspect`; `null` for none. */
  readonly suspect: string | null;
}

/** Parses a response; `undefined` for any other value. @param parsed any JSON */
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

/** Parses a request; `undefined` for any other text. @param text the rest of the request line */
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
