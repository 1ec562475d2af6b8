import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXConfiguration.AnonymizationAlgorithm;
import org.deidentifier.arx.ARXLattice.ARXNode;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.BasicBLikeness;
import org.deidentifier.arx.criteria.DDisclosurePrivacy;
import org.deidentifier.arx.criteria.EnhancedBLikeness;
import org.deidentifier.arx.criteria.EqualDistanceTCloseness;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.criteria.PrivacyCriterion;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

/**
 * Times ARX's searches under arithmetic-mean loss: one search, and one line of JSON, for each line
 * that it is sent.
 *
 * <pre>
 * java Search DATA.csv [--k 5] [--suppression 0.05] [--threshold none] [--output FILE.csv]
 *     [--algorithm OPTIMAL] [--milliseconds N] [--promise MODEL:VALUE:COLUMN] QI=HIERARCHY.csv …
 * </pre>
 *
 * The threshold is that of the precomputed metric, or "none" for the metric without it. The data
 * hold the quasi-identifiers and the column of the promise only. Every result is written to the
 * output, if there is one.
 */
public final class Search {
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    public static void main(String[] arguments) throws Exception {
        Data data = Data.create(arguments[0], StandardCharsets.UTF_8, ';');
        Map<String, String> options = new HashMap<>();
        List<String> names = new ArrayList<>();
        for (int i = 1; i < arguments.length; i++) {
            if (arguments[i].startsWith("--")) {
                options.put(arguments[i].substring(2), arguments[++i]);
                continue;
            }
            String[] pair = arguments[i].split("=", 2);
            names.add(pair[0]);
            Hierarchy hierarchy = Hierarchy.create(pair[1], StandardCharsets.UTF_8, ';');
            data.getDefinition().setAttributeType(pair[0], hierarchy);
        }
        BufferedReader turns = new BufferedReader(new InputStreamReader(System.in));
        while (turns.readLine() != null) {
            System.gc(); // so that no repetition pays for the one before
            search(data, options, names);
        }
    }

    private static void search(Data data, Map<String, String> options, List<String> names)
            throws Exception {
        ARXConfiguration configuration = ARXConfiguration.create();
        configuration.addPrivacyModel(new KAnonymity(Integer.parseInt(options.get("k"))));
        if (options.containsKey("promise")) {
            String[] promise = options.get("promise").split(":", 3);
            data.getDefinition()
                    .setAttributeType(promise[2], AttributeType.SENSITIVE_ATTRIBUTE);
            configuration.addPrivacyModel(
                    model(promise[0], Double.parseDouble(promise[1]), promise[2]));
        }
        configuration.setSuppressionLimit(Double.parseDouble(options.get("suppression")));
        configuration.setQualityModel(metric(options.getOrDefault("threshold", "none")));
        configuration.setAlgorithm(
                AnonymizationAlgorithm.valueOf(options.getOrDefault("algorithm", "OPTIMAL")));
        if (options.containsKey("milliseconds")) {
            configuration.setHeuristicSearchTimeLimit(
                    Integer.parseInt(options.get("milliseconds")));
            configuration.setHeuristicSearchThreshold(Integer.MAX_VALUE);
            configuration.setGeneticAlgorithmIterations(Integer.MAX_VALUE); // time alone ends it
            configuration.setGeneticAlgorithmDeterministic(true);
        }

        long process = SYSTEM.getProcessCpuTime();
        long thread = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        long wall = System.nanoTime();
        ARXResult result = new ARXAnonymizer().anonymize(data, configuration);
        wall = System.nanoTime() - wall;
        thread = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - thread;
        process = SYSTEM.getProcessCpuTime() - process;

        ARXNode optimum = result.getGlobalOptimum();
        StringJoiner levels = new StringJoiner(", ", "[", "]");
        for (String name : names) {
            levels.add(optimum == null ? "" : "" + optimum.getGeneralization(name));
        }
        System.out.printf(
                Locale.ROOT,
                "{\"wall\": %.6f, \"cpu\": %.6f, \"thread\": %.6f, \"traversal\": %.3f,"
                        + " \"checks\": %d, \"nodes\": %s, \"proven\": %s, \"node\": %s,"
                        + " \"loss\": %s}%n",
                wall / 1e9,
                process / 1e9,
                thread / 1e9,
                result.getTime() / 1e3,
                result.getProcessStatistics().getTransformationsChecked(),
                result.getProcessStatistics().getTransformationsAvailable(),
                result.getOptimumFound(),
                optimum == null ? "null" : levels,
                optimum == null ? "null" : optimum.getHighestScore());
        System.out.flush();
        if (options.containsKey("output")) {
            result.getOutput().save(options.get("output"), ';');
        }
        data.getHandle().release();
    }

    private static PrivacyCriterion model(String name, double value, String column) {
        switch (name) {
            case "basic_beta":
                return new BasicBLikeness(column, value);
            case "enhanced_beta":
                return new EnhancedBLikeness(column, value);
            case "t_closeness":
                return new EqualDistanceTCloseness(column, value);
            case "delta_disclosure":
                return new DDisclosurePrivacy(column, value);
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static Metric<?> metric(String threshold) {
        AggregateFunction mean = AggregateFunction.ARITHMETIC_MEAN;
        return threshold.equals("none")
                ? Metric.createLossMetric(mean)
                : Metric.createPrecomputedLossMetric(Double.parseDouble(threshold), mean);
    }
}
