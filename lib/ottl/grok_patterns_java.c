/* Grok patterns of the logs of Java programs, Tomcat and Maven. */
#include "lib/ottl/grok.h"

const struct grok_pattern grok_java[] = {
    /* Java and Tomcat */
    {"JAVACLASS", "(?:[a-zA-Z$_][a-zA-Z$_0-9]*\\.)*[a-zA-Z$_][a-zA-Z$_0-9]*"},
    {"JAVAFILE", "[a-zA-Z$_0-9. -]+"},
    {"JAVAMETHOD", "<(?:cl)?init>|[a-zA-Z$_][a-zA-Z$_0-9]*"},
    {"JAVASTACKTRACEPART",
     "%{SPACE}at "
     "%{JAVACLASS:java.log.origin.class.name}\\.%{JAVAMETHOD:log.origin.function}\\(%{JAVAFILE:log."
     "origin.file.name}(?::%{INT:log.origin.file.line:int})?\\)"},
    {"JAVATHREAD", "[A-Z]{2}-Processor\\d+"},
    {"JAVALOGMESSAGE", ".*"},
    {"CATALINA7_DATESTAMP", "%{MONTH} %{MONTHDAY}, %{YEAR} %{HOUR}:%{MINUTE}:%{SECOND} (?:AM|PM)"},
    {"CATALINA7_LOG", "%{CATALINA7_DATESTAMP:timestamp} %{JAVACLASS:java.log.origin.class.name}(?: "
                      "%{JAVAMETHOD:log.origin.function})?\\s*(?:%{LOGLEVEL:log.level}:)? "
                      "%{JAVALOGMESSAGE:message}"},
    {"CATALINA8_DATESTAMP", "%{MONTHDAY}-%{MONTH}-%{YEAR} %{HOUR}:%{MINUTE}:%{SECOND}"},
    {"CATALINA8_LOG",
     "%{CATALINA8_DATESTAMP:timestamp} %{LOGLEVEL:log.level} "
     "\\[%{DATA:java.log.origin.thread.name}\\] "
     "%{JAVACLASS:java.log.origin.class.name}\\.(?:%{JAVAMETHOD:log.origin.function})? "
     "%{JAVALOGMESSAGE:message}"},
    {"CATALINA_DATESTAMP", "%{CATALINA8_DATESTAMP}|%{CATALINA7_DATESTAMP}"},
    {"CATALINALOG", "%{CATALINA8_LOG}|%{CATALINA7_LOG}"},
    {"TOMCAT7_LOG", "%{CATALINA7_LOG}"},
    {"TOMCAT8_LOG", "%{CATALINA8_LOG}"},
    {"TOMCATLEGACY_DATESTAMP",
     "%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{HOUR}:%{MINUTE}:%{SECOND}(?: %{ISO8601_TIMEZONE})?"},
    {"TOMCATLEGACY_LOG", "%{TOMCATLEGACY_DATESTAMP:timestamp} \\| %{LOGLEVEL:log.level} \\| "
                         "%{JAVACLASS:java.log.origin.class.name} - %{JAVALOGMESSAGE:message}"},
    {"TOMCAT_DATESTAMP", "%{CATALINA8_DATESTAMP}|%{CATALINA7_DATESTAMP}|%{TOMCATLEGACY_DATESTAMP}"},
    {"TOMCATLOG", "%{TOMCAT8_LOG}|%{TOMCAT7_LOG}|%{TOMCATLEGACY_LOG}"},
    /* Maven */
    {"MAVEN_VERSION", "(?:\\d+\\.){0,2}(?:\\*|\\d+)(?:[.-](?:RELEASE|SNAPSHOT))?"},
    {0},
};
