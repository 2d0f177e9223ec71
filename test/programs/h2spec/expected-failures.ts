/** A case of h2spec that Weir fails, and why that is right. */
export interface ExpectedFailure {
  /** Its section, as h2spec names it. */
  readonly section: string;
  readonly title: string;
  readonly reason: string;
}

const NO_BODY = 'the response to a request that opens no tunnel has no body, so no DATA follows';
const IGNORED =
  'the request was refused at once by a complete response and RST_STREAM with NO_ERROR ' +
  '(RFC 9113 §8.1); what was in flight for it is then ignored (§5.1)';

/**
 * h2spec sends GET and POST requests without `content-type: application/grpc`, which the inbound refuses as
 * soon as it has their headers; many cases expect a server that waits for the rest of the request.
 */
export const EXPECTED_FAILURES: readonly ExpectedFailure[] = [
  {
    section: 'generic/2',
    title: 'Sends a WINDOW_UPDATE frame on half-closed (remote) stream',
    reason: NO_BODY,
  },
  {
    section: 'generic/2',
    title: 'Sends a PRIORITY frame on half-closed (remote) stream',
    reason: NO_BODY,
  },
  {
    section: 'http2/5.1.2',
    title:
      'Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded',
    reason: 'each request is refused, and so over, before the next one is read',
  },
  {
    section: 'http2/6.9.1',
    title:
      'Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream',
    reason: IGNORED,
  },
  {
    section: 'http2/8.1',
    title: 'Sends a second HEADERS frame without the END_STREAM flag',
    reason: IGNORED,
  },
  {
    section: 'http2/8.1.2.1',
    title: 'Sends a HEADERS frame that contains a pseudo-header field as trailers',
    reason: IGNORED,
  },
  {
    section: 'http2/8.1.2.6',
    title:
      'Sends a HEADERS frame with the "content-length" header field which does not equal the DATA frame payload length',
    reason: IGNORED,
  },
  {
    section: 'http2/8.1.2.6',
    title:
      'Sends a HEADERS frame with the "content-length" header field which does not equal the sum of the multiple DATA frames payload length',
    reason: IGNORED,
  },
];
