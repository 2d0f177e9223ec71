import test from 'node:test';
import { cellAt, missing, type Column } from '../support/matrix/cell.ts';
import { serverWordsBeforeReset, wordsBeforeReset } from '../support/matrix/ends.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { GRPC_TLS, TLS, wayTitle, type Way } from '../support/ways/way.ts';

/*
 * Programs that pass on what comes before a reset, with Weir at the other end. v2ray and Xray keep such a flow open
 * until their own time limits; a sing-box server drops responses of destinations that have reset QUIC flows.
 */

const HYSTERIA: readonly Column[] = [
  { client: 'weir', server: 'hysteria' },
  { client: 'hysteria', server: 'weir' },
  { client: 'sing-box', server: 'weir' },
];
const SING_BOX: readonly Column[] = [
  { client: 'weir', server: 'sing-box' },
  { client: 'sing-box', server: 'weir' },
];
const ROWS: readonly (readonly [way: Way, columns: readonly Column[]])[] = [
  [{ protocol: 'hysteria2' }, HYSTERIA],
  [{ protocol: 'vless' }, SING_BOX],
  [{ protocol: 'vmess', cipher: 'aes-128-gcm' }, SING_BOX],
  [{ protocol: 'trojan', carrier: TLS }, SING_BOX],
  [{ protocol: 'vless', carrier: GRPC_TLS }, SING_BOX],
  [{ protocol: 'shadowsocks', cipher: 'aes-128-gcm' }, SING_BOX],
];

for (const [way, columns] of ROWS) {
  for (const column of columns) {
    const cell = cellAt(way, column);
    const title = `${wayTitle(way)}, ${column.client} to ${column.server}`;
    test(`what comes before a reset arrives: ${title}`, { skip: missing(cell) }, async () => {
      await using server = await cell.server.server(way);
      await using client = await cell.client.client(way, server.address);
      // grpc-go drops messages that wait in its own queue when its program cancels the call.
      const isCancelled = way.carrier === GRPC_TLS && column.client === 'sing-box';
      const arrive = isCancelled ? serverWordsBeforeReset : wordsBeforeReset;
      await arrive((to) => socksConnect(client.address, to.target));
    });
  }
}

/** Clients of Mux.Cool, which pass on no reset of their own. */
for (const client of ['v2ray', 'xray'] as const) {
  const way: Way = { protocol: 'vless', mux: 8 };
  const cell = cellAt(way, { client, server: 'weir' });
  const title = `${wayTitle(way)}, ${client} to weir`;
  test(
    `what comes before a server's reset arrives: ${title}`,
    { skip: missing(cell) },
    async () => {
      await using server = await cell.server.server(way);
      await using peer = await cell.client.client(way, server.address);
      await serverWordsBeforeReset((to) => socksConnect(peer.address, to.target));
    },
  );
}
