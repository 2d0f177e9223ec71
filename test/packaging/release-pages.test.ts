import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf } from '../../packaging/release-pages.ts';

test('of a program, code alone is released: other pages may differ from its file', () => {
  const maps = [
    '00400000-00a00000 r--p 00000000 fd:00 12   /opt/weir',
    '00a00000-00b00000 r-xp 00600000 fd:00 12   /opt/weir',
    '00b00000-00c00000 rw-p 00700000 fd:00 12   /opt/weir',
    '00c00000-00d00000 rwxp 00000000 00:00 0 ',
    '7f0000000000-7f0000002000 r-xp 00000000 fd:00 13   /lib/libc.so.6',
    '7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0   [vdso]',
    '',
  ].join('\n');
  assert.deepEqual(codeOf(maps, '/opt/weir'), [{ from: 0xa00000, length: 0x100000 }]);
});
