import * as clash from '../forms/clash.ts';
import { defineForms } from '../forms/contract.ts';
import type { Draft, NamedServer, StreamDraft } from '../forms/draft.ts';
import { encoded, linkText, readLink, streamQuery, WITHOUT_PCS } from '../forms/link.ts';
import { namedUser, ShareError, type StreamAccess } from '../forms/shared-server.ts';
import * as singBox from '../forms/sing-box.ts';
import * as xray from '../forms/xray.ts';
import type { TrojanInboundSettings } from './settings.ts';

type TrojanAccess = StreamAccess<{ readonly password: string }>;

const draft = (place: NamedServer, stream: StreamDraft | undefined, password: string): Draft => ({
  ...place,
  protocol: 'trojan',
  stream,
  settings: { password },
});

export const trojanForms = defineForms<TrojanAccess>({
  link: {
    schemes: ['trojan'],
    unpinned: WITHOUT_PCS,
    read: readLink((link) => draft(link.place, link.stream('tls'), link.needUser('password'))),
    write(server) {
      const { settings, stream } = server.access;
      if (settings.password === '') throw new ShareError('the password is empty');
      return linkText(server, 'trojan', encoded(settings.password), streamQuery(stream));
    },
  },
  singBox: {
    type: 'trojan',
    read: (fields, name) =>
      draft(singBox.serverIn(fields, name), singBox.streamIn(fields), fields.needText('password')),
    write: ({ settings: { password }, stream }) => ({ password, ...singBox.streamForm(stream) }),
  },
  clash: {
    type: 'trojan',
    read: (fields, name) =>
      draft(
        clash.serverIn(fields, name),
        clash.streamIn(fields, true),
        fields.needText('password'),
      ),
    write({ settings: { password }, stream }) {
      const { tls } = stream;
      if (!tls) throw new ShareError('Clash has no Trojan without TLS');
      return { password, udp: true, ...clash.tlsForm(tls, 'sni'), ...clash.transportForm(stream) };
    },
  },
  xray: {
    protocol: 'trojan',
    read(settings, name, outbound) {
      const server = xray.serverOf(settings, 'servers');
      const password = server.needText('password');
      return draft(xray.placeOf(server, name), xray.streamIn(outbound), password);
    },
    write: ({ settings: { password }, stream }, place) => ({
      settings: { servers: [{ ...place, password }] },
      ...xray.streamForm(stream),
    }),
  },
  clashApi: { outbound: 'Trojan', inbound: 'Trojan' },
  user: { lists: ['users'], name: 'email', secret: 'password' },
  sharedUsers: ({ users }: TrojanInboundSettings, { protocol, stream }) =>
    users.map(({ password, email }, index) => ({
      ...namedUser(index, [email]),
      access: { protocol, settings: { password }, stream },
    })),
  generated: {
    port: 8443,
    network: 'TCP',
    access: (_user, tls, secrets) => ({
      protocol: 'trojan',
      settings: { password: secrets.password() },
      stream: { tls, carrier: { kind: 'raw' } },
    }),
    settings: ({ settings: { password } }, { user }) => [
      'users = [',
      `  { password = ${JSON.stringify(password)}, email = ${JSON.stringify(user)} },`,
      ']',
    ],
  },
});
