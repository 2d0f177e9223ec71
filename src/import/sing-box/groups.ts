import { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { SING_BOX_GROUP_KEYS } from '../keys/sing-box.ts';
import type { ForeignGroup } from '../routing.ts';
import type { TargetNames } from '../targets.ts';
import { secondsOf } from '../values/durations.ts';
import { notesOn } from '../verdicts.ts';

/** Reads a `selector`, which stands for its initial member, or an `urltest`. */
export function readGroup(value: unknown, names: TargetNames): ForeignGroup {
  const fields = new ForeignObject(value);
  const members = fields.list('outbounds').filter((each) => typeof each === 'string');
  const name = fields.text('tag') ?? '';
  const targets = members.map((each) => names.of(each));
  if (fields.text('type') === 'selector') {
    const chosen = fields.text('default') ?? '';
    return {
      name,
      strategy: 'select',
      members: targets,
      chosen: chosen === '' ? undefined : members.indexOf(chosen),
      notes: notesOn(fields, SING_BOX_GROUP_KEYS),
    };
  }
  const interval = fields.text('interval') ?? '';
  return {
    name,
    strategy: 'failover',
    members: targets,
    interval: interval === '' ? DEFAULT_INTERVAL : secondsOf(interval),
    notes: [
      'the first member that works is used, not the fastest',
      ...notesOn(fields, SING_BOX_GROUP_KEYS),
    ],
  };
}

/** Default seconds between the tests of an `urltest`. */
const DEFAULT_INTERVAL = 180;
