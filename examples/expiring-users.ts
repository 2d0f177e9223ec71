/**
 * A proxy whose users have an expiry each.
 *
 *     node expiring-users.ts
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { Weir } from 'weir-engine';
import { startOrigin } from './origin.ts';

await using origin = await startOrigin((_, response) => response.end('hello'));

const DAY = 86_400_000;
const digest = (password: string): Buffer => createHash('sha256').update(password).digest();
const users = new Map([
  ['ann', { password: digest('a'), until: Date.now() + 30 * DAY }],
  ['bob', { password: digest('b'), until: Date.now() - DAY }],
]);

await using weir = await Weir.start({
  config: {
    inbound: [{ tag: 'in', protocol: 'http', port: 0 }],
    outbound: [{ tag: 'direct', protocol: 'freedom' }],
  },
  authorize({ user = '', password = '' }) {
    const known = users.get(user);
    const matches = known !== undefined && timingSafeEqual(known.password, digest(password));
    return matches && Date.now() < known.until;
  },
});
const port = weir.listeners()[0]?.port ?? 0;

for (const login of ['ann:a', 'ann:wrong', 'bob:b']) {
  const headers = { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` };
  const [response] = await once(
    request({ port, path: origin.url, headers, agent: false }).end(),
    'response',
  );
  console.log(login, response.statusCode);
  response.resume();
}
