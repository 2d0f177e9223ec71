import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { editPick, removePick } from '../../../../src/config/edit/pick-editor.ts';

const WITH = { subscribe: true };

const removed = (text: string, group = 'Video', config = WITH): string =>
  Buffer.from(removePick(Buffer.from(text), config, group)).toString();

const ROUTES = '[subscribe]\npath = "sub.toml"\n\n[subscribe.routes] # picks\n';

describe('the pick of a group is removed, and nothing else', () => {
  for (const [what, text, expected] of [
    [
      'with the comment on its line',
      `${ROUTES}# mine\n  Video = 'a' # now\n\nNews = "b"\n`,
      `${ROUTES}# mine\n\nNews = "b"\n`,
    ],
    ['the only one: its table stays', `${ROUTES}Video = "a"\n[x]\n`, `${ROUTES}[x]\n`],
    ['on the last line, without a line break', `${ROUTES}a = "b"\nVideo = "a"`, `${ROUTES}a = "b"`],
    [
      'with line breaks of Windows',
      'a = 1\r\n[subscribe.routes]\r\nVideo = "a"\r\nb = "c"\r\n',
      'a = 1\r\n[subscribe.routes]\r\nb = "c"\r\n',
    ],
    [
      'a dotted key',
      '[subscribe]\nroutes.Video = "a"\nroutes.b = "c"\n',
      '[subscribe]\nroutes.b = "c"\n',
    ],
    [
      'the first of an inline table',
      'subscribe = { routes = { Video = "a", b = "c" } }\n',
      'subscribe = { routes = { b = "c" } }\n',
    ],
    [
      'the last of an inline table',
      '[subscribe]\nroutes = { b = "c", Video = "a" } # x\n',
      '[subscribe]\nroutes = { b = "c" } # x\n',
    ],
    ['of a file that has none', `${ROUTES}b = "c"\n`, `${ROUTES}b = "c"\n`],
    [
      'a byte order mark is kept',
      '\uFEFF[subscribe.routes]\nVideo = "a"\n',
      '\uFEFF[subscribe.routes]\n',
    ],
  ] as const) {
    test(what, () => assert.equal(removed(text), expected));
  }

  test('the default route, where no subscribe file is', () => {
    const text = '[route]\ndefault = "a"\n[subscribe.routes]\ndefault = "b"\n';
    assert.equal(
      removed(text, 'default', { subscribe: false }),
      '[route]\n[subscribe.routes]\ndefault = "b"\n',
    );
  });

  test('a pick that was added leaves no trace', () => {
    for (const text of [
      `${ROUTES}a = "b"\n`,
      `${ROUTES}a = "b"`,
      '[subscribe]\nroutes = { a = "b" }\n',
    ]) {
      const picked = editPick(Buffer.from(text), WITH, 'Video "1"', 'x');
      assert.notEqual(Buffer.from(picked).toString(), text);
      assert.equal(removed(Buffer.from(picked).toString(), 'Video "1"'), text);
    }
  });
});
