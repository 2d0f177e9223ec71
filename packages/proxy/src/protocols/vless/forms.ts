import * as clash from '../forms/clash.ts';
import { defineForms } from '../forms/contract.ts';
import {
  type Draft,
  ImportError,
  type NamedServer,
  type StreamDraft,
  withNameOfHost,
} from '../forms/draft.ts';
import { linkText, readLink, streamQuery, WITHOUT_PCS } from '../forms/link.ts';
import type { StreamAccess } from '../forms/shared-server.ts';
import * as singBox from '../forms/sing-box.ts';
import { sharedUuidUsers, UUID_USER, uuidUserLines } from '../forms/users.ts';
import * as xray from '../forms/xray.ts';

/** The id is a hyphenated UUID. */
type VlessAccess = StreamAccess<{ readonly id: string }>;

interface Account {
  readonly id: string;
  readonly flow?: string | undefined;
  readonly encryption?: string | undefined;
}

/** @throws {ImportError} for a flow or an encryption */
function draft(
  place: NamedServer,
  stream: StreamDraft | undefined,
  { id, flow = '', encryption = '' }: Account,
): Draft {
  if (flow !== '') {
    throw new ImportError(`the VLESS flow ${JSON.stringify(flow)} is not supported`);
  }
  if (encryption !== '' && encryption !== 'none') {
    throw new ImportError('VLESS encryption is not supported');
  }
  return { ...place, protocol: 'vless', stream, settings: { id: id.trim() } };
}

export const vlessForms = defineForms<VlessAccess>({
  link: {
    schemes: ['vless'],
    unpinned: WITHOUT_PCS,
    read: readLink((link) =>
      draft(link.place, link.stream('none'), {
        id: link.needUser('id'),
        flow: link.get('flow'),
        encryption: link.get('encryption'),
      }),
    ),
    write: (server) =>
      linkText(server, 'vless', server.access.settings.id, [
        ['encryption', 'none'],
        ...streamQuery(server.access.stream),
      ]),
  },
  singBox: {
    type: 'vless',
    read: (fields, name) =>
      draft(singBox.serverIn(fields, name), singBox.streamIn(fields), {
        id: fields.needText('uuid'),
        flow: fields.text('flow'),
      }),
    write: ({ settings, stream }) => ({ uuid: settings.id, ...singBox.streamForm(stream) }),
  },
  clash: {
    type: 'vless',
    read: (fields, name) =>
      draft(
        clash.serverIn(fields, name),
        clash.streamIn(fields, fields.flag('tls'), withNameOfHost),
        {
          id: fields.needText('uuid'),
          flow: fields.text('flow'),
          encryption: fields.text('encryption'),
        },
      ),
    write: ({ settings, stream }) => ({
      uuid: settings.id,
      udp: true,
      ...clash.streamForm(stream, 'servername'),
    }),
  },
  xray: {
    protocol: 'vless',
    read(settings, name, outbound) {
      const server = xray.serverOf(settings, 'vnext');
      const account = xray.userOf(server);
      return draft(xray.placeOf(server, name), xray.streamIn(outbound), {
        id: account.needText('id'),
        flow: account.text('flow'),
        encryption: account.text('encryption'),
      });
    },
    write: ({ settings, stream }, place) => ({
      settings: { vnext: [{ ...place, users: [{ id: settings.id, encryption: 'none' }] }] },
      ...xray.streamForm(stream),
    }),
  },
  clashApi: { outbound: 'Vless', inbound: 'Vless' },
  user: UUID_USER,
  sharedUsers: sharedUuidUsers,
  generated: {
    port: 443,
    network: 'TCP',
    access(_user, tls, secrets) {
      const path = `/${secrets.path()}`;
      return {
        protocol: 'vless',
        settings: { id: secrets.uuid() },
        stream: { tls, carrier: { kind: 'ws', path, host: undefined } },
      };
    },
    settings: ({ settings }, { comment }) => uuidUserLines(settings.id, comment),
  },
});
