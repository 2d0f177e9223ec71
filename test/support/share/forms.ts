import assert from 'node:assert/strict';
import { readForeign } from '@weir/nodes/import';
import type { Draft, SharedServer } from '@weir/proxy/protocols/forms';
import {
  clashDocument,
  clashProxy,
  shareLink,
  singBoxOutbound,
  xrayOutbound,
} from '../../../packages/nodes/src/share/forms.ts';
import type { OutboundSpec } from '@weir/proxy/spec';
import '../import/load-forms.ts';

/** The forms of other programs; `lacks` is what each has no way to say. */
export const FORMS: Readonly<
  Record<
    string,
    {
      readonly write: (server: SharedServer) => string;
      readonly lacks: (server: SharedServer) => boolean;
    }
  >
> = {
  link: {
    write: shareLink,
    lacks: ({ access }) => access.protocol === 'http' && access.stream?.carrier.kind !== 'raw',
  },
  'sing-box': {
    write: (each) => JSON.stringify({ outbounds: [singBoxOutbound(each)] }),
    lacks: ({ access }) => access.protocol === 'http' && access.stream?.carrier.kind !== 'raw',
  },
  xray: {
    write: (each) => JSON.stringify({ outbounds: [xrayOutbound(each)] }),
    lacks: ({ access }) => access.protocol === 'hysteria2' && access.tls?.insecure === true,
  },
  clash: {
    write: (each) => clashDocument([clashProxy(each)]),
    lacks: ({ access }) =>
      (access.protocol === 'trojan' && !access.stream?.tls) ||
      (access.protocol === 'http' && access.stream?.carrier.kind !== 'raw'),
  },
};

/** sing-box and Clash have no `:authority` of their own. */
export function comparable(spec: OutboundSpec | undefined, form: string): unknown {
  const carrier = spec?.stream?.carrier;
  if (!spec?.stream || carrier?.kind !== 'grpc' || form === 'link' || form === 'xray') return spec;
  return { ...spec, stream: { ...spec.stream, carrier: { ...carrier, authority: '' } } };
}

/** The only server of a document. */
export function onlyDraft(text: string): Draft {
  const { entries } = readForeign(text);
  const [entry] = entries;
  assert.equal(entries.length, 1);
  assert.ok(entry?.draft, entry?.skipped ?? 'no entry');
  return entry.draft;
}
