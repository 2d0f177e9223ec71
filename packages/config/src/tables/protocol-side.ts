import { findProtocol, type Protocol, protocolName } from '@weir/proxy/protocols';
import { DecodeError, type Located, PlainDecodeError } from '@weir/proxy/schema';
import { Finding, SettingsFinding } from '../findings.ts';
import { protocolHint } from '../word-hints.ts';

/**
 * Returns the client or server side of the protocol that a table names, with its canonical name.
 * @throws {Finding} if there is no such protocol, or it lacks that side.
 */
export function protocolSide<Side extends 'inbound' | 'outbound'>(
  { value: written, span }: Located<string>,
  side: Side,
): { readonly name: string; readonly side: NonNullable<Protocol[Side]> } {
  const name = protocolName(written);
  const found = findProtocol(written)?.[side];
  if (name !== undefined && found) return { name, side: found };
  throw new Finding('unknown protocol', span, { hint: protocolHint(written, side) });
}

/**
 * Runs a protocol's decoder. Its errors are reported without a line, as specified for `settings`.
 */
export function lowerSettings<T>(subject: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Finding) {
      // The error concerns a file that the settings name.
      const { kind, message, span } = error;
      throw new SettingsFinding(`${subject}: ${message}`, span, { kind, cause: error });
    }
    if (!(error instanceof DecodeError)) throw error;
    const what = error instanceof PlainDecodeError ? '' : 'invalid settings: ';
    const message = `${subject}: ${what}${error.message}`;
    throw new SettingsFinding(message, error.span, { cause: error });
  }
}
