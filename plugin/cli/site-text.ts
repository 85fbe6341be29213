import type { NodeView, SiteView } from '../admin/views';

type OperatorView = NonNullable<SiteView['operator']>;

const STRICTNESS = { active: 0, drain: 1, maintenance: 2, down: -1 } as const;

/** How it was taken out of service, by whom, when and why; empty if nobody did. */
export const operatorText = (operator: OperatorView | null): string =>
  operator === null || operator.state === 'active' ? '' : `${operator.state} by ${saidBy(operator)}`;

const saidBy = ({ by, at, why }: OperatorView): string => `${by}, ${at}${why === '' ? '' : `: ${why}`}`;

/** Why a node is not used as its site is: its operator's word, or what health says; empty if it is. */
function nodeText({ healthy, reason, since_s, operator }: NodeView): string {
  const health = healthy ? '' : `down${since_s === null ? '' : ` for ${since_s} s`}: ${reason}`;
  return [operatorText(operator), health].filter((text) => text !== '').join('; ');
}

/** The nodes of a site of which there is something to tell: uri, state and why. */
export const nodeRows = (site: SiteView): (readonly [uri: string, state: string, why: string])[] =>
  site.nodes.map((node) => [node.uri, node.state, nodeText(node)] as const).filter(([, , why]) => why !== '');

/**
 * What was ordered and does not hold, because the other word of an operator, for the site or for its node, is stricter: one line
 * each, with what would end it.
 */
export function heldBack(site: SiteView, ordered: OperatorView['state'], node?: string): string[] {
  const place = `${site.system}/${site.site}`;
  const isStricter = (operator: OperatorView | null): operator is OperatorView =>
    operator !== null && STRICTNESS[operator.state] > STRICTNESS[ordered];
  if (node !== undefined) {
    const { operator } = site;
    if (!isStricter(operator)) return [];
    return [
      `  the whole site is in ${operator.state} by ${saidBy(operator)} (dsbc site active ${place} ends that)`,
    ];
  }
  return site.nodes.flatMap(({ uri, operator }) =>
    isStricter(operator)
      ? [
          `  node ${uri} is in ${operator.state} of its own by ${saidBy(operator)} (dsbc site active ${place} --node ${uri} ends that)`,
        ]
      : [],
  );
}
