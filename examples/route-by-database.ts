/**
 * Routes that come from a database: who may go where, and by which outbound.
 *
 *     node route-by-database.ts
 */
import { DatabaseSync } from 'node:sqlite';
import { DialError, Weir } from 'weir-engine';
import { startOrigin } from './origin.ts';

await using origin = await startOrigin((_, response) => response.end('hello'));

const database = new DatabaseSync(':memory:');
database.exec(`
  CREATE TABLE route (user TEXT, host TEXT, outbound TEXT, PRIMARY KEY (user, host));
  INSERT INTO route VALUES ('ann', 'localhost', 'fast'), ('bob', 'localhost', NULL);
`);
const lookUp = database.prepare('SELECT outbound FROM route WHERE user = ? AND host = ?');

await using weir = await Weir.start({
  config: {
    outbound: [
      { tag: 'slow', protocol: 'freedom' },
      { tag: 'fast', protocol: 'freedom' },
    ],
  },
  // Without a row the rules decide: here the first outbound.
  route({ user, host }) {
    const row = lookUp.get(user ?? '', host);
    if (row === undefined) return undefined;
    return typeof row['outbound'] === 'string' ? row['outbound'] : { refuse: true };
  },
});

for (const user of ['ann', 'bob', 'cleo']) {
  try {
    const socket = await weir.connect({ host: 'localhost', port: origin.port, user });
    const flow = weir.connections().flows.find(({ id }) => id === socket.flowId);
    console.log(`${user} goes by ${flow?.outbound}`);
    socket.destroy();
  } catch (error) {
    if (!(error instanceof DialError)) throw error;
    console.log(`${user} is ${error.code}`);
  }
}
