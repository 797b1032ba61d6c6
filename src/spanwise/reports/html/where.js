"use strict";
// Conditions on mentions, in the syntax of `spanwise errors --where`: label=MISC & entity_length>=3.
window.spanwiseWhere = (text, data) => {
  const held = [];
  const plain = text.replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => `\u0000${held.push(quoted.slice(1, -1).replace(/\\(.)/g, "$1")) - 1}\u0000`);
  const restored = (part) => part.replace(/\u0000(\d+)\u0000/g, (_, place) => held[Number(place)]);
  const clauses = plain.split("&").map((clause) => {
    const found = [];
    for (const part of clause.split(",")) {
      const operator = /!=|>=|<=|=|>|</.exec(part);
      if (!operator) {
        if (!found.length) throw new Error(`“${text}” is not a condition`);
        found.at(-1).values.push(restored(part.trim()));
        continue;
      }
      const name = part.slice(0, operator.index).trim(), negated = name.startsWith("!");
      const attribute = restored(name.replace(/^!/, "").trim()), value = restored(part.slice(operator.index + operator[0].length).trim());
      if (!attribute || !value) throw new Error(`“${text}” is not a condition`);
      found.push({ attribute, operator: operator[0] === "!=" ? "=" : operator[0], not: negated !== (operator[0] === "!="), values: [value] });
    }
    return found;
  });
  const unspaced = (value) => value.replace(/\s/g, "");
  const ordered = { ">=": (a, b) => a >= b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, "<": (a, b) => a < b };
  // Whether all mentions of a bucket (or none) meet a comparison; null if the bucket cannot tell.
  const bucketHolds = (row, place, one) => {
    const [low, high, special] = row.bounds[place];
    if (one.operator === "=") {
      const found = one.values.map((value) => {
        if (value === row.buckets[place] || unspaced(value) === unspaced(row.titles[place])) return true;
        const number = Number(value);
        if (value === "" || Number.isNaN(number) || (low === null && high === null)) return false;
        if (special) return low === number;
        return (low === null || low < number) && (high === null || number <= high) ? null : false;
      });
      return found.includes(true) ? true : found.includes(null) ? null : false;
    }
    const bound = Number(one.values[0]), upward = one.operator.startsWith(">");
    if (Number.isNaN(bound)) throw new Error(`“${one.values[0]}” is not a number`);
    if (low === null && high === null) return null;
    if (special) return ordered[one.operator](low, bound);
    if (low !== null && /^(≥ \d+|\d+(–\d+)?)$/.test(row.titles[place])) { // only whole numbers
      const least = ordered[one.operator](Math.floor(low) + 1, bound), most = ordered[one.operator](high === null ? Infinity : Math.floor(high), bound);
      return least === most ? least : null;
    }
    if (low !== null && low >= bound) return upward;
    const below = high !== null && (one.operator === ">" || one.operator === "<=" ? high <= bound : high < bound);
    return below ? !upward : null;
  };
  const holds = (one, mention) => {
    if (one.attribute === "label") return one.values.includes(data.labels[mention.label]);
    if (one.attribute === "toughness" || one.attribute === "tough") {
      if (mention.side !== "gold") return one.not; // predicted mentions are in no subset
      return one.values.some((value) => {
        const bit = data.tough.indexOf(value);
        if (bit < 0) throw new Error(`no tough subset is called “${value}”`);
        return Boolean((mention.tough >> bit) & 1);
      });
    }
    const at = data.attributes.findIndex((row) => row.name === one.attribute || row.title === one.attribute);
    if (at < 0) throw new Error(`no attribute of this page is called “${one.attribute}”`);
    const place = mention.buckets[at];
    if (place === undefined) throw new Error(`${data.attributes[at].title} was not bucketed in the same way for all systems`);
    const found = place < 0 ? false : bucketHolds(data.attributes[at], place, one);
    if (found === null) throw new Error(`“${one.attribute}${one.operator}${one.values}” cannot be decided by the bucket ${data.attributes[at].buckets[place]}`);
    return found;
  };
  const meets = (mention) => clauses.every((clause) => clause.some((one) => holds(one, mention) !== one.not));
  meets.tough = clauses.flat().some((one) => one.attribute === "toughness" || one.attribute === "tough");
  return meets;
};
