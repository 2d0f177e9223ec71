/**
 * What a new VMess connection costs beside its sockets: microseconds of processor time for each
 * part of its handshake, one chunk each way, and the ends of both directions.
 *
 *     node packages/proxy/bench/vmess.ts
 *     WEIR_CRYPTO=baseline node packages/proxy/bench/vmess.ts
 */
import { SystemRandomSource } from '@weir/base/random';
import { BoundedReader, linkPair } from '@weir/io/links';
import { AuthIdReader, userKey } from '../src/protocols/vmess/header/header-seal.ts';
import { requestKeys, responseKeys } from '../src/protocols/vmess/body/body-keys.ts';
import {
  BodyOpener,
  BodySealer,
  type PayloadDecoder,
} from '../src/protocols/vmess/body/body-chunks.ts';
import { MAX_REQUEST, readRequest, RequestSealer } from '../src/protocols/vmess/header/request.ts';
import { ResponseDecoder, sealResponse } from '../src/protocols/vmess/header/response.ts';
import { Command, KEY_LENGTH, Security } from '../src/protocols/vmess/wire.ts';

const ROUNDS = 20;
const CONNECTIONS = 500;
const SECONDS = 1_700_000_000;
/** Chunks, masked and padded, as clients ask for. */
const OPTIONS = 0x0d;

const random = new SystemRandomSource();
const user = userKey('b831381d63244d53ad4f8cda48b30811');
const sealer = new RequestSealer(user, random);
const authIds = new AuthIdReader(user);
const payload = Buffer.from([1]);

/** The ciphers of one side of a connection. */
interface End {
  readonly decoder: PayloadDecoder;
  readonly sealer: BodySealer;
}

const best = new Map<string, number>();

/** Runs a part for all connections; keeps the best of all rounds, when other work mattered least. */
async function part<Result>(name: string, run: (i: number) => Result): Promise<Awaited<Result>[]> {
  const start = process.cpuUsage();
  const results: Awaited<Result>[] = [];
  for (let i = 0; i < CONNECTIONS; i++) results.push(await run(i));
  const { user: own, system } = process.cpuUsage(start);
  best.set(name, Math.min(best.get(name) ?? Infinity, (own + system) / CONNECTIONS));
  return results;
}

/** An entry that this bench has made. */
function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error('a part of the bench gave nothing');
  return item;
}

async function round(): Promise<void> {
  await part('nothing: the loop itself', () => undefined);
  const headers = await part('client: keys at random', () => ({
    iv: random.bytes(KEY_LENGTH),
    key: random.bytes(KEY_LENGTH),
    answer: random.bytes(1)[0] ?? 0,
    options: OPTIONS,
    security: Security.aes128Gcm,
    request: { command: Command.tcp, destination: { host: '127.0.0.1', port: 443 } },
  }));
  const requests = await part('client: seal the request', (i) => {
    const bytes = sealer.seal(at(headers, i), SECONDS);
    if (!bytes) throw new Error('the destination does not fit');
    return bytes;
  });
  const clients = await part('client: make the ciphers', (i) => ({
    decoder: new ResponseDecoder(at(headers, i)),
    sealer: new BodySealer(requestKeys(at(headers, i)), random),
  }));
  const up = await part('client: seal a chunk', (i) => at(clients, i).sealer.stream(payload));
  const links = await part('(a pair of links)', async (i) => {
    const [near, far] = linkPair();
    await near.write(at(requests, i));
    return far;
  });
  const read = await part('server: read the request', (i) =>
    readRequest(new BoundedReader(at(links, i), MAX_REQUEST), (authId) => {
      if (authIds.read(authId) === undefined) throw new Error('the auth id is not the user’s');
      return Promise.resolve(user);
    }),
  );
  const servers = await part('server: make the ciphers', (i) => ({
    decoder: new BodyOpener(requestKeys(at(read, i))),
    sealer: new BodySealer(responseKeys(at(read, i)), random),
  }));
  await part('server: open a chunk', (i) => at(servers, i).decoder.push(at(up, i)));
  const responses = await part('server: seal the response', (i) => sealResponse(at(read, i)));
  const down = await part('server: seal a chunk', (i) =>
    at(servers, i).sealer.stream(payload, at(responses, i)),
  );
  await part('client: open the response and a chunk', (i) =>
    at(clients, i).decoder.push(at(down, i)),
  );
  for (const [name, ends] of Object.entries<readonly End[]>({ client: clients, server: servers })) {
    await part(`${name}: end and dispose of the ciphers`, (i) => {
      const { decoder, sealer } = at(ends, i);
      sealer.end();
      sealer[Symbol.dispose]();
      decoder[Symbol.dispose]();
    });
  }
}

for (let i = 0; i < ROUNDS; i++) await round();

const sums = new Map<string, number>();
for (const [name, time] of best) {
  console.log(`${name.padEnd(40)}${time.toFixed(1)} µs`);
  const end = /^(client|server): /.exec(name)?.[1];
  if (end !== undefined) sums.set(end, (sums.get(end) ?? 0) + time);
}
for (const [end, time] of sums) console.log(`${end.padEnd(40)}${time.toFixed(1)} µs`);
