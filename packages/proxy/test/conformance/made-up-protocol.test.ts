import assert from 'node:assert/strict';
import { registerHooks, type ModuleSource } from 'node:module';
import { describe, test } from 'node:test';

const FOLDER = new URL('../../../../test/support/protocols/made-up/', import.meta.url).href;

/** The one entry in the registry. */
const ENTRY = `
  'made-up': {
    aliases: ['invented'],
    outbound: true,
    load: async () => (await import('${FOLDER}index.ts')).madeUp,
    forms: async () => (await import('${FOLDER}forms.ts')).madeUpForms,
  },`;

const textOf = (source: ModuleSource | undefined): string =>
  typeof source === 'string' ? source : new TextDecoder().decode(source);

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/protocols/registry.ts')) return loaded;
    const source = textOf(loaded.source).replace('const LISTINGS = {', (start) => start + ENTRY);
    return { ...loaded, source };
  },
});

// Imported after the entry was made.
const { loadForms, formsOf, protocolNames } = await import('../../src/protocols/registry.ts');
const { FORMS, onlyDraft } = await import('../../../../test/support/share/forms.ts');
const { specOf } = await import('../../../../test/support/import/support.ts');
const { outboundText } = await import('@weir/nodes/import/write/tables');
const { draftOf } = await import('../../../nodes/src/share/forms.ts');
const { addUser } = await import('../../../config/src/edit/users/edit-users.ts');
const { SourceText } = await import('../../../config/src/sources/source-text.ts');
const { outboundProtocol } = await import('../../src/protocols/registry.ts');
const { clientOf } = await import('../../../../test/support/protocols/tunnel-harness.ts');
await loadForms();

const SERVER = {
  name: 'a server',
  host: 'proxy.example.com',
  port: 8443,
  access: {
    protocol: 'made-up',
    settings: { token: 't/1' },
    stream: {
      tls: { serverName: 'proxy.example.com', insecure: false, certificate: undefined },
      carrier: { kind: 'ws', path: '/a', host: undefined },
    },
  },
} as const;

describe('a protocol that is one folder and one entry', () => {
  test('is a choice of outbounds, and no inbound', () => {
    assert.ok(protocolNames('outbound').includes('invented'));
    assert.ok(!protocolNames('inbound').includes('made-up'));
  });

  for (const [form, { write }] of Object.entries(FORMS)) {
    test(`is written and read as ${form}`, async () => {
      const draft = onlyDraft(write(SERVER));
      assert.equal(draft.name, SERVER.name);
      const spec = await specOf(outboundText('out', draft));
      assert.ok(spec);
      assert.deepEqual(spec, await specOf(outboundText('out', draftOf(SERVER, undefined))));
      assert.deepEqual(spec.settings, { token: 't/1' });
    });
  }

  test('is named in the interface of Clash', () => {
    assert.equal(formsOf('invented')?.clashApi?.outbound, 'MadeUp');
  });

  test('has users that are added to a file', () => {
    const file = '[[inbound]]\ntag = "in"\nprotocol = "made-up"\nsettings = { tokens = [] }\n';
    const source = new SourceText(file, 'weir.toml');
    const secret = (): string => 'S';
    const { text } = addUser(source, { inbound: 'in', name: 'ann', secret, force: false });
    assert.match(text, /tokens = \[\{ password = "S", email = "ann" \}\]/);
  });

  test('connects', async () => {
    const create = await outboundProtocol('made-up').load();
    const { outbound, dialled } = clientOf((context) => create({ token: 't' }, context));
    const signal = new AbortController().signal;
    const link = await outbound.connect({ host: 'a.example', port: 80 }, { signal });
    await link.write(Buffer.from('hello'));
    const sent = [await dialled[0]?.read(), await dialled[0]?.read()];
    assert.equal(sent.join(''), 't a.example:80\nhello');
  });
});
