/**
 * A counter of bytes for each user, from the final counts of flows.
 *
 *     node bytes-per-user.ts
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { Weir } from 'weir-engine';
import { startOrigin } from './origin.ts';

await using origin = await startOrigin((incoming, response) => {
  response.end('x'.repeat(Number(incoming.url?.slice(1))));
});

await using weir = await Weir.start({
  config: {
    inbound: [
      {
        tag: 'in',
        protocol: 'http',
        port: 0,
        settings: {
          accounts: [
            { user: 'ann', pass: 'a' },
            { user: 'bob', pass: 'b' },
          ],
        },
      },
    ],
    outbound: [{ tag: 'direct', protocol: 'freedom' }],
  },
});

const bytes = new Map<string, number>();

/** Counts flows that have closed; `connections()` has those that are open. */
async function count(): Promise<void> {
  for await (const event of weir.flowEvents()) {
    if (event.event === 'lagged') console.warn(`missed ${event.missed} events`);
    if (event.event !== 'closed') continue;
    const { user, up, down } = event.flow;
    bytes.set(user ?? '', (bytes.get(user ?? '') ?? 0) + up + down);
  }
}
const counted = count();

const port = weir.listeners()[0]?.port ?? 0;

/** Fetches so many bytes as a user of the proxy. */
async function fetchAs(user: string, pass: string, size: number): Promise<void> {
  const login = Buffer.from(`${user}:${pass}`).toString('base64');
  const [response] = await once(
    request({
      port,
      path: `${origin.url}${size}`,
      headers: { 'proxy-authorization': `Basic ${login}`, connection: 'close' },
    }).end(),
    'response',
  );
  response.resume();
  await once(response, 'end');
}

await fetchAs('ann', 'a', 10_000);
await fetchAs('bob', 'b', 200_000);
await fetchAs('ann', 'a', 30_000);

await weir.stop();
await counted;
for (const [user, sum] of bytes) console.log(`${user} ${Math.round(sum / 10_000) * 10} kB`);
