import { STATUS_CODES } from 'node:http';
import { isIPv6 } from 'node:net';
import { atOnce } from '@weir/io/time';
import {
  createHttpInbound,
  httpAccounts,
} from '../../../../packages/proxy/src/protocols/http/inbound.ts';
import type {
  Ending,
  InboundHarness,
  User,
} from '../../../../packages/proxy/test/conformance/inbound/harness.ts';

export const httpPasswords: Readonly<Record<User, string>> = {
  ann: 'secret',
  bob: 'a:b',
  eve: 'guess',
};
const CONNECTED = 'HTTP/1.1 200 Connection established\r\n\r\n';
/** Other codes have 502. */
const STATUS: Readonly<Partial<Record<string, number>>> = {
  timed_out: 504,
  blocked: 403,
  forbidden: 403,
  loop: 508,
  unsupported: 501,
  aborted: 503,
};

const responds = (status: number, reason = '[^\n]+'): RegExp =>
  new RegExp(
    `^HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n[^]*Content-Type: text/plain[^]*\r\n\r\n${reason}\n$`,
  );
const INVALID: Ending = { how: 'end', after: 0, says: responds(400) };
const SILENT: Ending = { how: 'end', after: 10_000, says: /^$/ };

/** A tunnel by CONNECT: RFC 9110 §9.3.6, with the credentials of §11.7. */
export function httpConnect({ hasAccounts = false } = {}): InboundHarness {
  const head = (target: Buffer, user: User): Buffer => {
    const credentials = Buffer.from(`${user}:${httpPasswords[user]}`).toString('base64');
    const field = hasAccounts ? `Proxy-Authorization: Basic ${credentials}\r\n` : '';
    return Buffer.concat([
      Buffer.from('CONNECT '),
      target,
      Buffer.from(` HTTP/1.1\r\n${field}\r\n`),
    ]);
  };
  return {
    create: (users, context) => {
      const accounts = users.map((user) => ({ user, pass: httpPasswords[user] }));
      const settings = { accounts: hasAccounts ? accounts : [], allowTransparent: false };
      return createHttpInbound(atOnce(httpAccounts(settings)), context, settings);
    },
    ...(hasAccounts && { label: (user: User) => user }),
    isOpenWithoutUsers: true,
    client: (user, { host, port }) => {
      const name = typeof host === 'string' ? Buffer.from(host) : host.name;
      // A name in Unicode or of 255 bytes is none of a URL's, and an address with colons has brackets.
      if (port === 0 || name.length > 253 || (typeof host === 'string' && /[^ -~]/.test(host)))
        return undefined;
      if (typeof host !== 'string' && isIPv6(name.toString('latin1'))) return undefined;
      // HTTP leaves the mapped form to the engine, which brings all destinations into their canonical one.
      if (name.toString().startsWith('::ffff:')) return undefined;
      const shown = isIPv6(name.toString()) ? Buffer.from(`[${name.toString()}]`) : name;
      const request = head(Buffer.concat([shown, Buffer.from(`:${port}`)]), user);
      return {
        first: (payload) => Buffer.concat([request, payload]),
        more: (payload) => payload,
        open: (received) => {
          const start = received.subarray(0, CONNECTED.length).toString('latin1');
          if (!CONNECTED.startsWith(start)) throw new Error(`another response: ${start}`);
          return { payload: received.subarray(CONNECTED.length) };
        },
      };
    },
    // What follows was meant for the tunnel; without it the client may try again.
    rejected: { how: 'end', after: 0, says: responds(407) },
    invalidName: INVALID,
    stopped: (sent) => (sent === 0 ? SILENT : { ...SILENT, says: responds(408) }),
    refusal: (code) => responds(STATUS[code] ?? 502, 'as the test wishes'),
    staysAfterRefusal: true,
    rejections: [
      {
        name: 'a destination without a port',
        sends: head(Buffer.from('www.example:0'), 'ann'),
        error: /^undefined$/,
        ending: INVALID,
      },
    ],
  };
}
