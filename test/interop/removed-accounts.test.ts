import test from 'node:test';
import { Control } from '../support/process/control.ts';
import {
  around,
  openPlaces,
  removeAccounts,
  withOtherSecrets,
  type Subject,
} from '../support/process/removed-account.ts';
import { without } from '../support/programs/peers.ts';
import type { ProgramName } from '../support/ways/program.ts';
import { PROGRAMS } from '../support/ways/programs.ts';
import { weirIn } from '../support/ways/weir-config.ts';
import { TLS, WS_TLS, wayTitle, type Way } from '../support/ways/way.ts';
import { Weir } from '../support/process/weir.ts';

/** A way that other programs take, and which flows share a session of theirs. */
interface Case extends Pick<Subject, 'sharesStreams' | 'datagrams'> {
  readonly way: Way;
  readonly clients: readonly ProgramName[];
}

const RAYS: readonly ProgramName[] = ['v2ray', 'xray'];
const vmess: Way = { protocol: 'vmess', cipher: 'aes-128-gcm' };

const CASES: readonly Case[] = [
  { way: { ...vmess, mux: 8 }, clients: RAYS, sharesStreams: true, datagrams: 'apart' },
  {
    way: { ...vmess, carrier: WS_TLS, mux: 8 },
    clients: RAYS,
    sharesStreams: true,
    datagrams: 'apart',
  },
  {
    way: { protocol: 'vless', carrier: TLS, mux: 8 },
    clients: ['xray'],
    sharesStreams: true,
    datagrams: 'apart',
  },
  { way: { ...vmess, xudp: true }, clients: ['xray', 'sing-box'], datagrams: 'shared' },
  { way: { protocol: 'vless', xudp: true }, clients: ['xray', 'sing-box'], datagrams: 'shared' },
  { way: { protocol: 'trojan', carrier: TLS }, clients: ['xray', 'sing-box'], datagrams: 'shared' },
  {
    way: { protocol: 'shadowsocks', cipher: 'aes-128-gcm', users: true },
    clients: ['xray', 'sing-box'],
    datagrams: 'shared',
  },
  {
    way: { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm', users: true },
    clients: ['xray', 'sing-box'],
    datagrams: 'shared',
  },
  { way: { protocol: 'socks', login: true }, clients: ['sing-box'], datagrams: 'shared' },
  {
    way: { protocol: 'hysteria2' },
    clients: ['hysteria', 'sing-box'],
    sharesStreams: true,
    datagrams: 'shared',
  },
];

for (const { way, clients, ...shares } of CASES) {
  for (const name of clients) {
    const program = PROGRAMS[name];
    const title = `${name}: ${wayTitle(way)}`;
    test(`a removed account of ${title}`, { skip: without(...program.needs.client) }, async (t) => {
      await using places = await openPlaces();
      const tag = way.protocol;
      const config = around(weirIn(way), places);
      await using weir = await Weir.start(config);
      await using client = await program.client(way, weir.address(tag));
      const subject = { title, tag, socks: client.address, ...shares };
      const removed = withOtherSecrets(config, [way]);
      const server = await Control.of(weir);
      await removeAccounts(t, server, [subject], places, { config, removed });
    });
  }
}
