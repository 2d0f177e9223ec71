import test from 'node:test';
import { cellAt, cellTitle, missing, type Column } from '../support/matrix/cell.ts';
import { serverWordsBeforeReset, wordsBeforeReset } from '../support/matrix/ends.ts';
import { SharedWeirs } from '../support/matrix/shared-weirs.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { GRPC_TLS, TLS, type Way } from '../support/ways/way.ts';
import { shared } from '../support/shared.ts';

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

/** Clients of Mux.Cool, which pass on no reset of their own. */
const MUX: Way = { protocol: 'vless', mux: 8 };
const MUX_CELLS = (['v2ray', 'xray'] as const).map((client) =>
  cellAt(MUX, { client, server: 'weir' }),
);
const CELLS = [
  ...ROWS.flatMap(([way, columns]) => columns.map((column) => cellAt(way, column))),
  ...MUX_CELLS,
];

let weirs: SharedWeirs;
shared(async (use) => {
  weirs = use(await SharedWeirs.start(CELLS.filter((cell) => missing(cell) === false)));
});
for (const cell of CELLS) {
  // grpc-go drops messages that wait in its own queue when its program cancels the call.
  const isCancelled = cell.way.carrier === GRPC_TLS && cell.client.name === 'sing-box';
  const isServerOnly = isCancelled || MUX_CELLS.includes(cell);
  const what = isServerOnly ? "a server's reset" : 'a reset';
  const title = `what comes before ${what} arrives: ${cellTitle(cell)}`;
  test(title, { skip: missing(cell) }, async () => {
    await using ends = await weirs.ends(cell);
    const arrive = isServerOnly ? serverWordsBeforeReset : wordsBeforeReset;
    await arrive((to) => socksConnect(ends.socks, to.target));
  });
}
