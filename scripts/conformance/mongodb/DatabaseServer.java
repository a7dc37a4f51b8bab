import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;

/**
 * A server with the protocol of MongoDB that keeps its data in memory. The argument is its port on 127.0.0.1.
 *
 * The conformance suite reads the feature compatibility version when it starts, which mongo-java-server does not have.
 */
class DatabaseServer {
  /** The value that the suite would set: openid.mongodb.targetFeatureCompatibilityVersion in its properties. */
  private static final String VERSION = "6.0";

  public static void main(String[] arguments) {
    new MongoServer(new Backend()).bind("127.0.0.1", Integer.parseInt(arguments[0]));
  }

  private static class Backend extends MemoryBackend {
    @Override
    public Document handleCommand(Channel channel, String database, String command, Document query) {
      if (command.equals("getParameter") && query.containsKey("featureCompatibilityVersion")) {
        return new Document("featureCompatibilityVersion", new Document("version", VERSION)).append("ok", 1.0);
      }
      return super.handleCommand(channel, database, command, query);
    }
  }
}
