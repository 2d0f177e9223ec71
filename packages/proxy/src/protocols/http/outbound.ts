import { type Endpoint, formatEndpoint, shownEndpoint, shownForeign } from '@weir/io/addresses';
import { messageOf } from '@weir/base';
import { DeadlineError, DialError, ProtocolError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { abortReason } from '@weir/io/time';
import {
  field,
  headBytes,
  parseResponseHead,
  readHead,
  type ResponseHead,
  startsResponse,
} from '@weir/http/http1';
import { INTERIM_LIMIT } from '@weir/http/fields';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { basicCredentials } from './responses.ts';
import type { LoginSettings } from '../users/account-settings.ts';
import { isHost } from './request-target.ts';

/** Creates an outbound that uses CONNECT through an HTTP proxy (RFC 9110 §9.3.6). TCP only. */
export function createHttpOutbound({ account }: LoginSettings, context: OutboundContext): Outbound {
  const credentials = account && field('Proxy-Authorization', basicCredentials(account));

  return {
    async connect(destination, options) {
      const authority = formatEndpoint(destination);
      // Other protocols allow names that are invalid in a request line, even with CR and LF.
      if (!isHost(destination.host)) {
        throw new DialError(
          'failed',
          `outbound ${context.tag}: the host name is not valid in HTTP`,
        );
      }
      const fields = [field('Host', authority)];
      if (credentials) fields.push(credentials);
      const { link } = await context.dial(options);
      try {
        return await connectOver(link, headBytes(`CONNECT ${authority} HTTP/1.1`, fields), options);
      } catch (error) {
        link.destroy();
        if (isServers(error) && !options.signal.aborted) options.reach?.trying();
        throw asDialError(error, destination, context.tag, options.signal);
      }
    },
    async associate() {
      throw new DialError('unsupported', `http outbound ${context.tag} cannot carry UDP`);
    },
    close() {
      // Flows share nothing: each has its own connection.
    },
  };
}

/** Runs the handshake; bytes of the destination after the response stay in the link. */
async function connectOver(
  link: ByteLink,
  request: Uint8Array,
  { signal }: DialOptions,
): Promise<ByteLink> {
  const onAbort = (): void => link.destroy(abortReason(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const full = link.write(request);
    if (full) await full;
    for (let interim = 0; interim <= INTERIM_LIMIT; interim++) {
      const read = await readHead(link, startsResponse, signal);
      if (!read) throw new ProtocolError('the proxy closed without a response');
      const head = parseResponseHead(read.bytes);
      if (head.status >= 300 || head.status === 101) throw rejection(head);
      if (head.status >= 200) return link;
    }
    throw new ProtocolError('the proxy sent no final response');
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Whether a failure is that of the proxy, rather than its response about the destination: it closed without a response,
 * speaks another protocol, or rejects the account.
 */
const isServers = (error: unknown): boolean =>
  !(error instanceof DialError) || error instanceof CredentialsError;

class CredentialsError extends DialError {}

/** Returns the error for a proxy's response other than 2xx. */
function rejection({ status, reason }: ResponseHead): DialError {
  const response = `${status} ${shownForeign(reason)}`.trim();
  if (status === 407) {
    return new CredentialsError('upstream', `the proxy rejected the credentials (${response})`);
  }
  return new DialError(
    status === 504 ? 'timed_out' : 'upstream',
    `the proxy responded ${response}`,
  );
}

function asDialError(
  error: unknown,
  destination: Endpoint,
  tag: string,
  signal: AbortSignal,
): DialError {
  const reason: unknown = signal.aborted ? signal.reason : error;
  const name = `outbound ${tag}: ${shownEndpoint(destination)}`;
  const message = `${name}: ${messageOf(reason)}`;
  return new DialError(codeFor(reason, signal.aborted), message, { cause: error });
}

function codeFor(reason: unknown, aborted: boolean): DialError['code'] {
  if (reason instanceof DialError) return reason.code;
  if (reason instanceof DeadlineError) return 'timed_out';
  return aborted ? 'aborted' : 'upstream';
}
