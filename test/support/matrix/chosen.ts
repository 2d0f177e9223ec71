import { carrierTitle, carrierOf, type Way } from '../ways/way.ts';
import { cellAt, cellTitle, COLUMNS, impossible, missing, type Cell } from './cell.ts';
import { coverPairs, type Factors } from './pairs.ts';
import { ROWS } from './rows.ts';

/** Cells that have found a defect of Weir, each with the defect. */
export const KEPT: Readonly<Record<string, string>> = {
  'vmess aes-128-gcm over tcp, weir to v2ray': 'nonces that begin again after 65,536 chunks',
  'vmess aes-128-gcm over tcp, v2ray to weir': 'nonces that begin again after 65,536 chunks',
  'trojan over tcp, weir to sing-box': 'a request for datagrams that named no peer',
  'vless over ws over tls, v2ray to weir': 'the end of a download lost to a Close frame',
};

/** Every cell that programs can fill, installed or not, in the order of the tables. */
export const possibleCells = (): readonly Cell[] =>
  Object.values(ROWS)
    .flat()
    .flatMap((way) => COLUMNS.map((column) => cellAt(way, column)))
    .filter((cell) => impossible(cell) === undefined);

/** Those that programs of this machine can fill, and those of them that a run fills. */
export interface Choice {
  readonly fillable: readonly Cell[];
  readonly chosen: readonly Cell[];
}

/** Whether the whole matrix is run, for its table in the documentation. */
export const isForTable = (): boolean => process.env['WEIR_INTEROP_TABLE'] === '1';

/** All are chosen for the table, otherwise as many as cover every pair. */
export function chooseCells(): Choice {
  const fillable = possibleCells().filter((cell) => missing(cell) === false);
  return { fillable, chosen: isForTable() ? fillable : coveringCells(fillable) };
}

/** Cells that cover every pair of programs with direction, protocol, carrier, cipher, multiplexing and accounts. */
export const coveringCells = (cells: readonly Cell[]): readonly Cell[] =>
  coverPairs(cells, factorsOf, (cell) => Object.hasOwn(KEPT, cellTitle(cell)));

export const factorsOf = ({ way, client, server }: Cell): Factors => ({
  programs: `${client.name} to ${server.name}`,
  protocol: way.protocol,
  carrier: way.protocol === 'hysteria2' ? 'QUIC' : carrierTitle(carrierOf(way)),
  cipher: way.cipher ?? 'none',
  multiplexing: multiplexingOf(way),
  accounts: accountsOf(way),
});

const multiplexingOf = ({ mux, xudp = false }: Way): string =>
  mux === undefined ? (xudp ? 'XUDP' : 'none') : `mux of ${mux}`;

const accountsOf = ({ login = false, users = false, obfuscated = false }: Way): string =>
  login ? 'a password' : users ? 'two users' : obfuscated ? 'Salamander' : 'plain';
