import { formatIP, parseIP } from '../net/address.ts';
import { converted, str, type Decoder } from '../schema/decoder.ts';

/** Decoders that the settings of several protocols share. */

/** An IP address without brackets, prefix length or zone; IPv6 comes out in the form of RFC 5952. */
export const ipAddress: Decoder<string> = converted(str, (text, reject) => {
  const bytes = parseIP(text);
  if (!bytes) throw reject('invalid IP address syntax');
  return formatIP(bytes);
});
