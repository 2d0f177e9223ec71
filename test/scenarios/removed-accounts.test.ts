import test from 'node:test';
import { rule, socksIn } from '../support/config.ts';
import { Control } from '../support/control.ts';
import {
  around,
  openPlaces,
  removeAccounts,
  withOtherSecrets,
  type Subject,
} from '../support/removed-account.ts';
import { ID, LOGIN, OTHER_ID, PASSWORD, shadowsocksSecrets } from '../support/ways/secrets.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { CARRIERS, carriesDatagrams, isModern, wayTitle, type Way } from '../support/ways/way.ts';
import { Weir } from '../support/weir.ts';

const ofWeir = CARRIERS.filter(({ multi = false }) => !multi);

/** Every protocol with accounts, on every carrier that it has. */
const WAYS: readonly Way[] = [
  { protocol: 'socks', login: true },
  { protocol: 'http', login: true },
  ...ofWeir.map((carrier): Way => ({ protocol: 'trojan', carrier })),
  ...ofWeir.map((carrier): Way => ({ protocol: 'vless', carrier })),
  ...ofWeir.map((carrier): Way => ({ protocol: 'vmess', cipher: 'aes-128-gcm', carrier })),
  { protocol: 'shadowsocks', cipher: 'aes-128-gcm' },
  { protocol: 'shadowsocks', cipher: 'chacha20-ietf-poly1305', users: true },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-256-gcm' },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm', users: true },
  { protocol: 'shadowsocks', cipher: '2022-blake3-chacha20-poly1305' },
  { protocol: 'hysteria2' },
  { protocol: 'hysteria2', obfuscated: true },
];

/** Another user of the same inbound, by the secrets of which it is one; `undefined` without one. */
function otherUser(way: Way, settings: string): string | undefined {
  const [first = '', second] = shadowsocksSecrets(way).users;
  switch (way.protocol) {
    case 'socks':
    case 'http':
      return settings.replace(LOGIN.user, 'guest0').replace(LOGIN.pass, 'guest');
    case 'trojan':
      return settings.replace(PASSWORD, 'guest 0');
    case 'vless':
    case 'vmess':
      return settings.replace(ID, OTHER_ID);
    case 'shadowsocks': {
      if (way.users !== true) return undefined;
      return settings.replace(isModern(way) ? (second ?? '') : PASSWORD, first);
    }
    case 'hysteria2':
      return undefined;
    default:
      return way.protocol satisfies never;
  }
}

/** Without XUDP, which Weir does not send, each destination has a session. */
const hasApart = ({ protocol }: Way): boolean => protocol === 'vless' || protocol === 'vmess';

test('a removed account opens no further flow, whatever the protocol and the carrier', async (t) => {
  await using places = await openPlaces();
  const tags = WAYS.map((way, i) => ({ way, tag: `${way.protocol}-${i}` }));
  const config = around(
    tags.map(({ way, tag }) => weirIn(way, { tag, guests: 1 })).join(''),
    places,
  );
  await using exit = await Weir.start(config);
  const outbounds = tags.flatMap(({ way, tag }) => {
    const out = weirOut(way, exit.address(tag), { tag: `to-${tag}` });
    const other = otherUser(way, out)?.replace(`to-${tag}`, `to-other-${tag}`);
    return [{ tag, out }, ...(other === undefined ? [] : [{ tag: `other-${tag}`, out: other }])];
  });
  const entry = outbounds.map(({ tag, out }) => `${socksIn(tag)}${out}`).join('');
  const rules = outbounds.map(({ tag }) => rule(`to-${tag}`, `inbound_tag = ["${tag}"]`)).join('');
  await using client = await Weir.start(entry + rules);
  const subjectOf = ({ way, tag }: (typeof tags)[number], socks = tag): Subject => ({
    title: wayTitle(way),
    tag,
    socks: client.address(socks),
    sharesStreams: way.protocol === 'hysteria2',
    datagrams: !carriesDatagrams(way) ? 'none' : hasApart(way) ? 'apart' : 'shared',
  });
  const subjects = tags.map((one) => subjectOf(one));
  const bystanders = tags
    .filter(({ tag }) => client.addresses.has(`other-${tag}`))
    .map((one) => subjectOf(one, `other-${one.tag}`));
  const server = await Control.of(exit);
  const removed = withOtherSecrets(config, WAYS);
  await removeAccounts(t, server, subjects, places, { config, removed, bystanders });
});
