import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError, renderConfigError } from '../../src/errors.ts';
import { WeirError } from '@weir/base';
import { DIRECT, errorOf } from '../../../../test/support/config/support.ts';

describe('a configuration error', () => {
  test('is shown with its place on a line of its own', () => {
    const error = errorOf(`${DIRECT}${DIRECT}`, '/etc/weir.toml');
    assert.equal(
      renderConfigError(error),
      'duplicate outbound tag: direct\n  at /etc/weir.toml:5:7 (outbound direct)',
    );
  });

  test('is shown with its line where there is no file', () => {
    assert.match(renderConfigError(errorOf('foo = 1')), /`api`\n {2}at line 1, column 1$/);
  });

  test('in settings is only its message: such errors carry no line number', () => {
    const text = `${DIRECT}[[inbound]]\ntag = "in"\nprotocol = "vless"\nport = 1\nsettings.users = [{ id = "mia" }]`;
    const error = errorOf(text, '/etc/weir.toml');
    assert.equal(renderConfigError(error), 'inbound in: invalid settings: invalid uuid');
    assert.deepEqual([error.location?.line, error.subject], [8, 'inbound in']);
  });

  test('is only its message where there is no place', () => {
    assert.equal(renderConfigError(errorOf('')), 'config defines no outbounds');
    const unreadable = new ConfigError('io', 'weir.toml: permission denied');
    assert.equal(renderConfigError(unreadable), 'weir.toml: permission denied');
  });

  test('distinguishes invalid data from a file that cannot be read', () => {
    assert.equal(errorOf('').code, 'config_invalid');
    assert.equal(new ConfigError('io', '').code, 'config_io');
    assert.ok(errorOf('') instanceof WeirError);
  });
});
