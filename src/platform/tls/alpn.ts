/** Application-Layer Protocol Negotiation (RFC 7301). */

/**
 * Chooses one of the protocols that a client offers; `undefined` rejects the client. It is not asked for a
 * client that offers none.
 */
export type AlpnChoice = (offered: readonly string[]) => string | undefined;

/** A list of protocols as OpenSSL takes and gives it: each with its length in front (§3.1). */
export const encodeProtocols = (protocols: readonly string[]): Buffer =>
  Buffer.concat(
    protocols.map((name) => Buffer.concat([Buffer.of(name.length), Buffer.from(name, 'latin1')])),
  );

/** The protocols of such a list, and where in it the name of each begins. */
export function decodeProtocols(list: Buffer): { names: string[]; positions: number[] } {
  const names: string[] = [];
  const positions: number[] = [];
  for (let at = 0; at < list.length; at += 1 + (list[at] ?? 0)) {
    positions.push(at + 1);
    names.push(list.toString('latin1', at + 1, at + 1 + (list[at] ?? 0)));
  }
  return { names, positions };
}
