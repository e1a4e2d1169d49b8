// Numbers of the benchmark page: the metrics of adacap_bench.metrics on what the filters leave.
// Nothing here touches the page. A gap is NaN.
(() => {
  "use strict";
  const AdaBench = (window.AdaBench = {});
  const isGap = Number.isNaN;
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const known = (values) => values.filter((value) => !isGap(value));
  const column = (rows, j) => rows.map((row) => row[j]);
  const toNumber = (value) => (value === null || value === undefined ? NaN : value);

  const SIZES = {
    all: () => true,
    "lt300": (n) => n !== null && n < 300,
    "lt1000": (n) => n !== null && n < 1000,
    "ge1000": (n) => n !== null && n >= 1000,
    "ge5000": (n) => n !== null && n >= 5000,
  };
  const KINDS = { classification: ["binary", "multiclass"] };
  AdaBench.SIZES = SIZES;
  AdaBench.kindsOf = (choice) => KINDS[choice] || [choice];

  // state: {metric, kind, size, task, easy, hidden (Set of categories), gaps}
  AdaBench.select = (data, state) => {
    const metric = data.metrics.find((candidate) => candidate.name === state.metric);
    const kinds = AdaBench.kindsOf(state.kind);
    const keepTask = data.tasks.map(
      (task) => kinds.includes(task.kind) && SIZES[state.size](task.n) &&
        (!state.task || task.key === state.task)
    );
    const keepMethod = data.methods.map((method) => !state.hidden.has(method.category));
    let table = assemble(data, metric, keepTask, keepMethod);
    if (state.easy && !metric.greater) {
      const best = AdaBench.best(table);
      table = takeExperiments(table, best.map((value) => value < data.limit));
    }
    if (state.gaps === "experiments") {
      table = takeExperiments(table, table.values.map((row) => !row.some(isGap)));
    }
    return table;
  };

  function assemble(data, metric, keepTask, keepMethod) {
    const { cells } = data;
    const rows = [...cells.task.keys()].filter(
      (i) => keepTask[cells.task[i]] && keepMethod[cells.method[i]]
    );
    const key = (i) => cells.task[i] * 1e6 + cells.split[i];
    const experimentKeys = [...new Set(rows.map(key))].sort((a, b) => a - b);
    const methods = [...new Set(rows.map((i) => cells.method[i]))].sort((a, b) => a - b);
    const at = new Map(experimentKeys.map((value, index) => [value, index]));
    const place = new Map(methods.map((value, index) => [value, index]));
    const blank = () => experimentKeys.map(() => new Array(methods.length).fill(NaN));
    const table = {
      greater: metric.greater, label: metric.label, metric: metric.name,
      experiments: experimentKeys.map((value) => [Math.floor(value / 1e6), value % 1e6]),
      methods, values: blank(), seconds: blank(), seeds: blank(),
    };
    for (const i of rows) {
      const [row, col] = [at.get(key(i)), place.get(cells.method[i])];
      table.values[row][col] = toNumber(cells[metric.name][i]);
      table.seconds[row][col] = toNumber(cells.fit[i]);
      table.seeds[row][col] = cells.seeds[i];
    }
    return table;
  }

  function takeExperiments(table, keep) {
    const take = (list) => list.filter((_, i) => keep[i]);
    return {
      ...table, experiments: take(table.experiments), values: take(table.values),
      seconds: take(table.seconds), seeds: take(table.seeds),
    };
  }

  function takeMethods(table, places) {
    const take = (rows) => rows.map((row) => places.map((j) => row[j]));
    return {
      ...table, methods: places.map((j) => table.methods[j]), values: take(table.values),
      seconds: take(table.seconds), seeds: take(table.seeds),
    };
  }

  const wholePlaces = (table) =>
    table.methods.map((_, j) => j).filter((j) => !table.values.some((row) => isGap(row[j])));
  AdaBench.completeMethods = (table) => takeMethods(table, wholePlaces(table));

  // One row per task, the mean over its splits; a gap where one split is missing.
  AdaBench.byTask = (table) => {
    const tasks = [...new Set(table.experiments.map(([task]) => task))];
    const groups = tasks.map((task) => table.experiments.flatMap(([t], i) => (t === task ? [i] : [])));
    const average = (rows) =>
      groups.map((group) => table.methods.map((_, j) => mean(group.map((i) => rows[i][j]))));
    return {
      ...table, experiments: tasks.map((task) => [task, -1]),
      values: average(table.values), seconds: average(table.seconds), seeds: average(table.seeds),
    };
  };

  AdaBench.best = (table) =>
    table.values.map((row) => {
      const values = known(row);
      if (!values.length) return NaN;
      return table.greater ? Math.max(...values) : Math.min(...values);
    });

  // Rank of each method, 1 for the best, ties sharing their mean rank.
  function ranksOf(row, greater) {
    const order = row.map((_, j) => j).sort((a, b) => (greater ? row[b] - row[a] : row[a] - row[b]));
    const ranks = new Array(row.length);
    for (let start = 0; start < order.length; ) {
      let end = start;
      while (end + 1 < order.length && row[order[end + 1]] === row[order[start]]) end += 1;
      for (let i = start; i <= end; i += 1) ranks[order[i]] = (start + end) / 2 + 1;
      start = end + 1;
    }
    return ranks;
  }

  // best/own for errors, own/best for scores; null for scores that go below 0.
  function ratiosOf(table, best) {
    if (table.values.some((row) => row.some((value) => value < 0))) return null;
    return table.values.map((row, i) =>
      row.map((own) => {
        const [over, under] = table.greater ? [own, best[i]] : [best[i], own];
        return over === 0 && under === 0 ? 1 : over / under;
      })
    );
  }

  const shareOf = (values, level) =>
    values.length ? mean(values.map((value) => (value >= level * (1 - 1e-12) ? 1 : 0))) : NaN;

  function firstPlaces(table, best) {
    const points = new Array(table.methods.length).fill(0);
    table.values.forEach((row, i) => {
      const winners = row.flatMap((value, j) => (value === best[i] ? [j] : []));
      for (const j of winners) points[j] += 1 / winners.length;
    });
    return points;
  }

  function referencePlace(table, data) {
    const named = table.methods.findIndex((m) => data.methods[m].name === data.reference);
    if (named >= 0) return named;
    const counts = table.methods.map((_, j) => known(column(table.seconds, j)).length);
    const most = Math.max(0, ...counts);
    if (!most) return -1;
    const full = counts.flatMap((count, j) => (count === most ? [j] : []));
    const speed = (j) => mean(known(column(table.seconds, j)));
    return full.reduce((a, b) => (speed(b) < speed(a) ? b : a));
  }

  // Name of the method whose fit counts as 1, or null where no time is known.
  AdaBench.referenceName = (table, data) => {
    const place = referencePlace(table, data);
    return place < 0 ? null : data.methods[table.methods[place]].name;
  };

  function relativeTime(table, j, reference) {
    if (reference < 0) return NaN;
    const both = table.seconds.filter((row) => !isGap(row[j]) && !isGap(row[reference]));
    const total = both.reduce((sum, row) => sum + row[reference], 0);
    return total > 0 ? both.reduce((sum, row) => sum + row[j], 0) / total : NaN;
  }

  function standardError(values) {
    if (values.length < 2) return NaN;
    const centre = mean(values);
    const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
    return Math.sqrt(squares / (values.length - 1) / values.length);
  }

  // One entry per method, the best mean first, methods with gaps last.
  AdaBench.leaderboard = (table, data) => {
    const best = AdaBench.best(table);
    const played = known(best).length;
    const ratios = ratiosOf(table, best);
    const points = firstPlaces(table, best);
    const whole = wholePlaces(table);
    const rankRows = takeMethods(table, whole).values.map((row) => ranksOf(row, table.greater));
    const reference = referencePlace(table, data);
    const rows = table.methods.map((method, j) => {
      const values = known(column(table.values, j));
      const own = ratios ? known(column(ratios, j)) : [];
      const times = known(column(table.seconds, j));
      const place = whole.indexOf(j);
      return {
        method, name: data.methods[method].name, category: data.methods[method].category,
        n: values.length, missing: table.experiments.length - values.length,
        mean: values.length ? mean(values) : NaN, se: standardError(values),
        p90: shareOf(own, 0.9), p95: shareOf(own, 0.95), pma: own.length ? mean(own) : NaN,
        rank: place < 0 || !rankRows.length ? NaN : mean(column(rankRows, place)),
        top1: played ? points[j] / played : NaN,
        fit: times.length ? mean(times) : NaN, longest: times.length ? Math.max(...times) : NaN,
        relative: relativeTime(table, j, reference),
      };
    });
    const sign = table.greater ? -1 : 1;
    const order = (a, b) =>
      (a.missing > 0) - (b.missing > 0) || isGap(a.mean) - isGap(b.mean) || sign * (a.mean - b.mean);
    return rows.sort(order);
  };

  // Mean rank of each method over the tasks, as in the diagram of Nemenyi's test.
  AdaBench.taskRanks = (table) => {
    const blocks = blocksOf(table);
    const rows = blocks.values.map((row) => ranksOf(row, blocks.greater));
    return new Map(blocks.methods.map((method, j) => [method, rows.length ? mean(column(rows, j)) : NaN]));
  };

  // Tasks are the blocks of the test; the splits, where there is a single task.
  function blocksOf(table) {
    const tasks = new Set(table.experiments.map(([task]) => task)).size;
    return AdaBench.completeMethods(tasks > 1 ? AdaBench.byTask(table) : table);
  }

  // Upper tail of the χ² distribution, by the series or the continued fraction of Γ(a, x).
  AdaBench.chiSquareTail = (statistic, freedom) => {
    const [a, x] = [freedom / 2, statistic / 2];
    if (x <= 0) return 1;
    const scale = Math.exp(-x + a * Math.log(x) - logGamma(a));
    if (x < a + 1) {
      let [term, sum] = [1 / a, 1 / a];
      for (let n = 1; n < 1000 && term > sum * 1e-15; n += 1) sum += term *= x / (a + n);
      return 1 - sum * scale;
    }
    let b = x + 1 - a;
    let [c, d] = [1e300, 1 / b];
    let fraction = d;
    for (let n = 1; n < 1000; n += 1) {
      const factor = -n * (n - a);
      b += 2;
      d = 1 / (factor * d + b);
      c = b + factor / c;
      fraction *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return fraction * scale;
  };

  // Only half integers occur: Γ(a + 1) = a Γ(a), from Γ(1) = 1 or Γ(1/2) = √π.
  function logGamma(a) {
    let sum = a % 1 === 0 ? 0 : Math.log(Math.PI) / 2;
    for (let value = a - 1; value > 0; value -= 1) sum += Math.log(value);
    return sum;
  }

  // Diagram of Nemenyi's test.
  AdaBench.criticalDifference = (table, data) => {
    const tasks = new Set(table.experiments.map(([task]) => task)).size;
    const blocks = blocksOf(table);
    const [n, k] = [blocks.experiments.length, blocks.methods.length];
    if (n < 2 || k < 2) return null;
    const rankRows = blocks.values.map((row) => ranksOf(row, blocks.greater));
    const entries = blocks.methods
      .map((method, j) => ({ name: data.methods[method].name, method, rank: mean(column(rankRows, j)) }))
      .sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
    const difference = data.quantiles[k] * Math.sqrt((k * (k + 1)) / (6 * n));
    const [statistic, p] = friedmanTest(rankRows, entries, n, k);
    const groups = indistinctGroups(entries.map((entry) => entry.rank), difference);
    return { entries, difference, groups, statistic, p, n, k, unit: tasks > 1 ? "tasks" : "splits" };
  };

  function friedmanTest(rankRows, entries, n, k) {
    const spread = entries.reduce((sum, { rank }) => sum + (rank - (k + 1) / 2) ** 2, 0);
    let ties = 0;
    for (const row of rankRows) {
      const counts = new Map();
      for (const rank of row) counts.set(rank, (counts.get(rank) || 0) + 1);
      for (const size of counts.values()) ties += size ** 3 - size;
    }
    const correction = 1 - ties / (n * (k ** 3 - k));
    const statistic = correction > 0 ? ((12 * n) / (k * (k + 1))) * (spread / correction) : 0;
    return [statistic, AdaBench.chiSquareTail(statistic, k - 1)];
  }

  function indistinctGroups(ranks, difference) {
    const groups = [];
    ranks.forEach((start, first) => {
      const last = ranks.findLastIndex((rank) => rank - start < difference);
      const previous = groups.length ? groups[groups.length - 1][1] : -1;
      if (last > first && last > previous) groups.push([first, last]);
    });
    return groups;
  }

  // Time against mean score; on the front nothing is both faster and better.
  AdaBench.tradeOff = (board, greater) => {
    const points = board.filter((row) => !isGap(row.mean) && row.fit > 0);
    const front = [];
    const ordered = points.filter((row) => row.missing === 0)
      .sort((a, b) => a.fit - b.fit || (greater ? b.mean - a.mean : a.mean - b.mean));
    for (const row of ordered) {
      const last = front[front.length - 1];
      if (!last || (greater ? row.mean > last.mean : row.mean < last.mean)) front.push(row);
    }
    return { points, front };
  };

  // Share of experiments in which the first beats the second; a tie is half a win.
  AdaBench.winRates = (table, methods) => {
    const places = methods.map((method) => table.methods.indexOf(method));
    return places.map((a) =>
      places.map((b) => {
        if (a === b) return NaN;
        const met = table.values.filter((row) => !isGap(row[a]) && !isGap(row[b]));
        const wins = met.map((row) => {
          if (row[a] === row[b]) return 0.5;
          return row[a] > row[b] === table.greater ? 1 : 0;
        });
        return wins.length ? mean(wins) : NaN;
      })
    );
  };

  // Scores of one task: per method its mean, its splits and its time, the best first.
  AdaBench.taskDetail = (table, data, task) => {
    const rows = table.experiments.flatMap(([t], i) => (t === task ? [i] : []));
    const splits = rows.map((i) => table.experiments[i][1]);
    const entries = table.methods.map((method, j) => {
      const scores = rows.map((i) => table.values[i][j]);
      const times = known(rows.map((i) => table.seconds[i][j]));
      const { name, category } = data.methods[method];
      return {
        method, name, category, scores, mean: known(scores).length ? mean(known(scores)) : NaN,
        missing: scores.filter(isGap).length, fit: times.length ? mean(times) : NaN,
        seeds: Math.max(...rows.map((i) => table.seeds[i][j] || 0)),
      };
    });
    const sign = table.greater ? -1 : 1;
    entries.sort((a, b) => (a.missing > 0) - (b.missing > 0) || isGap(a.mean) - isGap(b.mean) || sign * (a.mean - b.mean));
    return { task: data.tasks[task], splits, entries };
  };

  // Scores of one method: per task its mean and splits, its place, and who was best.
  AdaBench.methodDetail = (table, data, method) => {
    const tasks = [...new Set(table.experiments.map(([task]) => task))];
    const rows = tasks.map((task) => {
      const { entries, splits } = AdaBench.taskDetail(table, data, task);
      const place = entries.findIndex((entry) => entry.method === method);
      return { task, splits, own: entries[place], place: place + 1, of: entries.filter((entry) => !entry.missing).length, best: entries[0] };
    });
    const splits = [...new Set(rows.flatMap((row) => row.splits))].sort((a, b) => a - b);
    return { method: data.methods[method], rows, splits };
  };
})();
