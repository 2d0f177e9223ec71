import * as clash from '@weir/proxy/protocols/forms/clash';
import type { Draft, StreamDraft } from '@weir/proxy/protocols/forms';
import * as singBox from '@weir/proxy/protocols/forms/sing-box';
import * as xray from '@weir/proxy/protocols/forms/xray';
import { defineForms } from '../../../../packages/proxy/src/protocols/forms/contract.ts';
import type { NamedServer } from '../../../../packages/proxy/src/protocols/forms/draft.ts';
import {
  encoded,
  linkText,
  readLink,
  streamQuery,
} from '../../../../packages/proxy/src/protocols/forms/link.ts';
import type { StreamAccess } from '../../../../packages/proxy/src/protocols/forms/shared-server.ts';

const draft = (place: NamedServer, stream: StreamDraft | undefined, token: string): Draft => ({
  ...place,
  protocol: 'made-up',
  stream,
  settings: { token },
});

export const madeUpForms = defineForms<StreamAccess<{ readonly token: string }>>({
  link: {
    schemes: ['made-up'],
    read: readLink((link) => draft(link.place, link.stream('tls'), link.needUser('token'))),
    write: (server) =>
      linkText(
        server,
        'made-up',
        encoded(server.access.settings.token),
        streamQuery(server.access.stream),
      ),
  },
  singBox: {
    type: 'made_up',
    read: (fields, name) =>
      draft(singBox.serverIn(fields, name), singBox.streamIn(fields), fields.needText('token')),
    write: ({ settings, stream }) => ({ ...settings, ...singBox.streamForm(stream) }),
  },
  clash: {
    type: 'madeup',
    read: (fields, name) =>
      draft(
        clash.serverIn(fields, name),
        clash.streamIn(fields, fields.flag('tls')),
        fields.needText('token'),
      ),
    write: ({ settings, stream }) => ({ ...settings, ...clash.streamForm(stream, 'sni') }),
  },
  xray: {
    protocol: 'made-up',
    read(settings, name, outbound) {
      const server = xray.serverOf(settings, 'servers');
      return draft(xray.placeOf(server, name), xray.streamIn(outbound), server.needText('token'));
    },
    write: ({ settings, stream }, place) => ({
      settings: { servers: [{ ...place, ...settings }] },
      ...xray.streamForm(stream),
    }),
  },
  clashApi: { outbound: 'MadeUp' },
  user: { lists: ['tokens'], name: 'email', secret: 'password' },
});
