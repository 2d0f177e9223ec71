/** Application-Layer Protocol Negotiation (RFC 7301). */

/**
 * Chooses one of the protocols that a client offers; `undefined` rejects the client. Not called for
 * a client that offers none.
 */
export type AlpnChoice = (offered: readonly string[]) => string | undefined;

/** Encodes a list of protocols, each prefixed by its length (§3.1). */
export const encodeProtocols = (protocols: readonly string[]): Buffer =>
  Buffer.concat(
    protocols.map((name) => Buffer.concat([Buffer.of(name.length), Buffer.from(name, 'latin1')])),
  );

/** Decodes a list of protocols; `positions` are the offsets of the names. */
export function decodeProtocols(list: Buffer): { names: string[]; positions: number[] } {
  const names: string[] = [];
  const positions: number[] = [];
  for (let at = 0; at < list.length; at += 1 + (list[at] ?? 0)) {
    positions.push(at + 1);
    names.push(list.toString('latin1', at + 1, at + 1 + (list[at] ?? 0)));
  }
  return { names, positions };
}
