import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { TlsExchange } from '../../../../src/dns/exchanges/tls-exchange.ts';
import { HttpsExchange } from '../../../../src/dns/exchanges/https-exchange.ts';
import { systemClock } from '@weir/io/time';
import { NodeClient } from '../../../../src/transports/tls/node-client.ts';
import { secureClient } from '../../../../src/transports/tls/secure-client.ts';
import {
  TestAuthority,
  type TestCertificate,
} from '../../../../../../test/support/data/test-certificates.ts';
import {
  a,
  reply,
  startHttpsDns,
  startTlsDns,
  type Asked,
} from '../../../../../../test/support/peers/dns-server.ts';

const never = new AbortController().signal;
const root = new TestAuthority('root');
const issuing = root.subordinate();
const names = { dns: ['server.test'] };
const leaf = issuing.issue(names);
const chain = { ...leaf, cert: `${leaf.cert}\n${issuing.cert}` };
const expired = issuing.issue({ ...names, expired: true });
const other = issuing.issue(names);

interface Case {
  readonly what: string;
  readonly server: TestCertificate;
  /** PEM; `undefined` for the system's alone. */
  readonly ca: string | undefined;
  readonly serverName?: string;
  /** Matches why it is rejected; `undefined` when it is accepted. */
  readonly reason?: RegExp;
}

const CASES: readonly Case[] = [
  { what: 'a root above what the server sends', server: chain, ca: root.cert },
  { what: 'the issuing authority, which the server sends', server: chain, ca: issuing.cert },
  { what: 'the issuing authority, which it does not send', server: leaf, ca: issuing.cert },
  { what: 'the certificate of the server', server: leaf, ca: leaf.cert },
  { what: 'the certificate of the server with its chain', server: chain, ca: leaf.cert },
  {
    what: 'the certificate of the server under another name',
    server: leaf,
    ca: leaf.cert,
    serverName: 'other.test',
    reason: /altnames/,
  },
  {
    what: 'an issuing authority under another name',
    server: chain,
    ca: issuing.cert,
    serverName: 'other.test',
    reason: /altnames/,
  },
  { what: 'an expired certificate', server: expired, ca: expired.cert, reason: /expired/ },
  { what: 'its issuing authority', server: expired, ca: issuing.cert, reason: /expired/ },
  {
    what: 'another certificate of the authority',
    server: leaf,
    ca: other.cert,
    reason: /verify|issuer/,
  },
  { what: 'no authority', server: chain, ca: undefined, reason: /verify|issuer|self-signed/ },
];

/** A server that greets, and its address. */
async function greets(t: TestContext, certificate: TestCertificate) {
  const server = createServer(certificate, (socket) => {
    socket.on('error', () => undefined);
    socket.end('hello');
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

const good = (asked: Asked): Buffer => reply(asked, { answers: [a(asked.name, '192.0.2.1')] });
const question = { name: 'a.example', type: 'A' } as const;

/** Connects as each kind of client, and fails as it does. */
const CLIENTS: Readonly<Record<string, (t: TestContext, each: Case) => Promise<unknown>>> = {
  'a stream': async (t, each) => {
    const server = await greets(t, each.server);
    const client = secureClient(specOf(each), [], systemClock);
    const below = await client.below.connect(server, { signal: never });
    const { carrier } = await client.secure(below, server, never);
    assert.equal(String(await carrier.link.read()), 'hello');
    carrier.link.destroy();
  },
  'a stream by Node alone': async (t, each) => {
    const server = await greets(t, each.server);
    const raw = connect(server);
    raw.on('error', () => undefined);
    await once(raw, 'connect');
    const socket = await new NodeClient(specOf(each), [], systemClock).connect(raw, server, never);
    socket.destroy();
  },
  'DNS over TLS': async (t, each) => {
    const { ca, serverName } = specOf(each);
    const server = await startTlsDns(t, each.server, good);
    const exchange = new TlsExchange({ server, serverName, ca, clock: systemClock });
    t.after(() => exchange.close());
    await exchange.ask(question, never);
  },
  'DNS over HTTPS': async (t, each) => {
    const { ca, serverName: host } = specOf(each);
    const server = await startHttpsDns(t, each.server, 'h2', good);
    const exchange = new HttpsExchange({ server, host, path: '/', ca, clock: systemClock });
    t.after(() => exchange.close());
    await exchange.ask(question, never);
  },
};

const specOf = ({ ca, serverName = 'server.test' }: Case) => ({
  serverName,
  allowInsecure: false,
  ca: ca === undefined ? undefined : { file: 'ca.pem', certificates: [ca] },
});

for (const [client, attempt] of Object.entries(CLIENTS)) {
  for (const each of CASES) {
    const { what, reason } = each;
    test(`${client} that trusts ${what} ${reason ? 'is refused' : 'is made'}`, async (t) => {
      if (reason) await assert.rejects(attempt(t, each), { code: 'upstream', message: reason });
      else await attempt(t, each);
    });
  }
}
