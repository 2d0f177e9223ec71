import * as clash from '../../../../src/protocols/forms/clash.ts';
import { defineForms } from '../../../../src/protocols/forms/contract.ts';
import type { Draft, NamedServer, StreamDraft } from '../../../../src/protocols/forms/draft.ts';
import { encoded } from '../../../../src/protocols/forms/encodings.ts';
import { linkText, readLink, streamQuery } from '../../../../src/protocols/forms/link.ts';
import type { StreamAccess } from '../../../../src/protocols/forms/shared-server.ts';
import * as singBox from '../../../../src/protocols/forms/sing-box.ts';
import * as xray from '../../../../src/protocols/forms/xray.ts';

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
