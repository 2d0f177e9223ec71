/**
 * A violation of HTTP/2 or HTTP/3 by the peer. A value and not an exception: data from a peer never makes a parser
 * throw.
 */
export class PeerError<Name extends string> {
  /** Whether the error ends the connection or one stream (RFC 9113 §5.4, RFC 9114 §8). */
  readonly scope: 'connection' | 'stream';
  readonly name: Name;
  readonly code: number;
  /** The reason in printable ASCII, for the logs of both sides. */
  readonly reason: string;

  constructor(scope: 'connection' | 'stream', name: Name, code: number, reason: string) {
    this.scope = scope;
    this.name = name;
    this.code = code;
    this.reason = reason;
  }
}

/** Returns a function that returns the name of a code, for logs; hexadecimal for a code that is not in `codes`. */
export function codeNames(codes: Readonly<Record<string, number>>): (code: number) => string {
  const names = new Map(Object.entries(codes).map(([name, code]) => [code, name]));
  return (code) => names.get(code) ?? `0x${code.toString(16)}`;
}
