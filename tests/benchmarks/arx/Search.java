import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.StringJoiner;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXConfiguration.AnonymizationAlgorithm;
import org.deidentifier.arx.ARXLattice.ARXNode;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

/**
 * Times ARX's optimal search for k-anonymity under arithmetic-mean loss, one JSON line a repetition.
 *
 * <pre>
 * java Search DATA.csv K SUPPRESSION THRESHOLD REPETITIONS OUTPUT.csv|- QI=HIERARCHY.csv …
 * </pre>
 *
 * THRESHOLD is that of the precomputed metric, or "none" for the metric without it. The data holds
 * the quasi-identifiers only. The last result is written to OUTPUT unless it is "-".
 */
public final class Search {
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    public static void main(String[] arguments) throws Exception {
        int k = Integer.parseInt(arguments[1]);
        double suppression = Double.parseDouble(arguments[2]);
        int repetitions = Integer.parseInt(arguments[4]);
        String[] pairs = Arrays.copyOfRange(arguments, 6, arguments.length);

        Data data = Data.create(arguments[0], StandardCharsets.UTF_8, ';');
        String[] names = new String[pairs.length];
        for (int i = 0; i < pairs.length; i++) {
            String[] pair = pairs[i].split("=", 2);
            names[i] = pair[0];
            Hierarchy hierarchy = Hierarchy.create(pair[1], StandardCharsets.UTF_8, ';');
            data.getDefinition().setAttributeType(names[i], hierarchy);
        }
        for (int i = 0; i < repetitions; i++) {
            boolean last = i == repetitions - 1;
            System.gc(); // so that no repetition pays for the one before
            search(data, k, suppression, arguments[3], names, last ? arguments[5] : "-");
        }
    }

    private static void search(
            Data data, int k, double suppression, String threshold, String[] names, String output)
            throws Exception {
        ARXConfiguration configuration = ARXConfiguration.create();
        configuration.addPrivacyModel(new KAnonymity(k));
        configuration.setSuppressionLimit(suppression);
        configuration.setQualityModel(metric(threshold));
        configuration.setAlgorithm(AnonymizationAlgorithm.OPTIMAL);

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
            levels.add(Integer.toString(optimum.getGeneralization(name)));
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
                levels,
                optimum.getHighestScore());
        System.out.flush();
        if (!output.equals("-")) {
            result.getOutput().save(output, ';');
        }
        data.getHandle().release();
    }

    private static Metric<?> metric(String threshold) {
        AggregateFunction mean = AggregateFunction.ARITHMETIC_MEAN;
        return threshold.equals("none")
                ? Metric.createLossMetric(mean)
                : Metric.createPrecomputedLossMetric(Double.parseDouble(threshold), mean);
    }
}
