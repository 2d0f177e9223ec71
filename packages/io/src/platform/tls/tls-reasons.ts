/** Clearer texts for some of OpenSSL's reasons. */
const REASONS: Readonly<Record<string, string>> = {
  'wrong version number': 'the peer does not speak TLS',
  'http request': 'the peer speaks HTTP without TLS',
  'unsupported protocol': 'the peer supports no TLS version that is allowed here',
  'no application protocol': 'the peer offers no supported application protocol',
};

/** Returns the reason of an OpenSSL error, or a clearer text for it. */
export const tlsReasonInWords = (reason: string): string => REASONS[reason] ?? reason;
