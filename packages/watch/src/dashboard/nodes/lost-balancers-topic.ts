import type { PageTopic } from '../contract.ts';
import type { FileModel } from '../reader/file-model.ts';
import type { LostBalancersView } from './view.ts';

/** Maximum number of balancers that a page receives. */
const MAX_ROWS = 20;

/** The topic `lost-balancers`. */
export const lostBalancersTopic = (file: FileModel): PageTopic => ({
  name: 'lost-balancers',
  view: (): LostBalancersView => {
    const lost = (file.facts?.balancers ?? []).filter(({ lostFrom }) => lostFrom.length > 0);
    return {
      rows: lost.slice(0, MAX_ROWS).map(({ tag, lostFrom }) => ({ id: tag, sources: lostFrom })),
      more: Math.max(0, lost.length - MAX_ROWS),
    };
  },
  hold: () => file.hold(),
  onChange: (listener) => file.onChange(listener),
});
