import type { Import } from './imports.ts';

/**
 * The circles in a graph of imports: groups of files, each of which reaches every other of its group.
 * Tarjan's algorithm for strongly connected components, SIAM J. Comput. 1(2), 1972.
 */
export function circlesIn(imports: readonly Import[]): readonly (readonly string[])[] {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const order = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];

  const visit = (file: string): number => {
    const index = order.size;
    order.set(file, index);
    stack.push(file);
    let low = index;
    for (const { to } of targets.get(file) ?? []) {
      // A file that has left the stack belongs to a component that is complete.
      if (!order.has(to)) low = Math.min(low, visit(to));
      else if (stack.includes(to)) low = Math.min(low, order.get(to) ?? low);
    }
    if (low === index) {
      const component = stack.splice(stack.indexOf(file));
      const importsItself = targets.get(file)?.some(({ to }) => to === file) ?? false;
      if (component.length > 1 || importsItself) circles.push(component.sort());
    }
    return low;
  };

  for (const file of targets.keys()) if (!order.has(file)) visit(file);
  return circles;
}
